"""The differences between two versions of a message: fields, nullability, tags, and flexibility (KIP-482)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import UnsupportedVersion
from protocol_specs.layout import default_text, field_rows, header_version

if TYPE_CHECKING:
    from protocol_specs.layout import FieldRow
    from protocol_specs.message import Message


class Change(Enum):
    """The kind of a difference; the value is its sign in a listing."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """One difference. `at` is the version that introduces it, on the way from the first version to the second."""

    change: Change
    place: str
    text: str
    at: int


ENCODING: Final = "(encoding)"
"""The place of a change that concerns every field: compact lengths and tag sections, or not."""

HEADER: Final = "(header)"
"""The place of a change of the header's version."""


def changes(cls: type[Message], first: int, second: int) -> list[VersionChange]:
    """The changes from `first` to `second`, which may be the older one. Raises UnsupportedVersion."""
    for version in (first, second):
        if version not in cls.VERSIONS:
            raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    walk = list(range(first, second + 1) if first <= second else range(first, second - 1, -1))
    rows = field_rows(cls)
    states = [_state(cls, rows, version) for version in walk]
    types = {row.place: row for row in rows}
    found = []
    for place in (HEADER, ENCODING, *types):
        before, after = states[0].get(place), states[-1].get(place)
        if before != after:
            at = _changed_at(walk, [state.get(place) for state in states])
            found.append(_change(place, before, after, types.get(place), at))
    return found


def history(cls: type[Message]) -> dict[int, list[VersionChange]]:
    """The changes of each version but the oldest, from the version before; empty if the bytes are the same."""
    return {version: changes(cls, version - 1, version) for version in list(cls.VERSIONS)[1:]}


def _state(cls: type[Message], rows: list[FieldRow], version: int) -> dict[str, tuple[str, ...]]:
    """Every property of a version that affects its bytes, by place."""
    state: dict[str, tuple[str, ...]] = {
        ENCODING: ("flexible" if cls.is_flexible(version) else "not flexible",),
    }
    header = header_version(cls, version)
    if header is not None:
        state[HEADER] = (f"header {header}",)
    for row in rows:
        if version in row.versions:
            null = "nullable" if version in row.nullable else "not nullable"
            state[row.place] = (null, f"tag {row.field.tag}" if version in row.tagged else "no tag")
    return state


def _changed_at(walk: list[int], values: list[tuple[str, ...] | None]) -> int:
    """The first version of the walk from which on the last value holds."""
    settled = len(values) - 1
    while values[settled - 1] == values[-1]:
        settled -= 1
    return walk[settled]


def _change(
    place: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None, row: FieldRow | None, at: int
) -> VersionChange:
    if before is None:
        assert row is not None
        assert after is not None
        return VersionChange(change=Change.ADDED, place=place, text=_described(row, after), at=at)
    if after is None:
        assert row is not None
        return VersionChange(change=Change.REMOVED, place=place, text=row.type_name, at=at)
    texts = [f"{was} -> {now}" for was, now in zip(before, after, strict=True) if was != now]
    return VersionChange(change=Change.CHANGED, place=place, text=", ".join(texts), at=at)


def _described(row: FieldRow, holds: tuple[str, ...]) -> str:
    """An added field: its type, its properties in that version, and its default."""
    texts = [row.type_name, *(text for text in holds if text not in {"not nullable", "no tag"})]
    if (default := default_text(row.field)) is not None:
        texts.append(f"default {default}")
    return ", ".join(texts)
