"""Where to start in a partition: `beginning`, `end`, an offset, `-N` (the last N records), or `@TIME`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.admin import Admin, IsolationLevel
    from broker_client.records import TopicPartition

__all__ = ["OFFSET_FORMS", "StartOffset", "StartPlace", "start_offset"]

OFFSET_FORMS: Final = (
    "beginning, end, an offset, -N for the last N of each partition, or @TIME (ms since 1970, ISO 8601)"
)


class StartPlace(Enum):
    """The kinds of places."""

    BEGINNING = auto()
    END = auto()
    OFFSET = auto()
    BEFORE_END = auto()
    TIME_MS = auto()


@dataclass(frozen=True, slots=True)
class StartOffset:
    """A place in each partition; `value` is an offset, a number of records or a time in ms."""

    place: StartPlace
    value: int = 0

    def resolve(
        self, admin: Admin, partitions: Sequence[TopicPartition], isolation_level: IsolationLevel | str
    ) -> dict[TopicPartition, int]:
        """Return the offset per partition, within its log; the end where no record is at the time or after it."""
        from broker_client.admin import OffsetSpec

        def listed(spec: int) -> dict[TopicPartition, int]:
            found = admin.list_offsets(dict.fromkeys(partitions, spec), isolation_level=isolation_level)
            return {key: each.offset for key, each in found.items()}

        first, last = listed(OffsetSpec.EARLIEST), listed(OffsetSpec.LATEST)
        match self.place:
            case StartPlace.BEGINNING:
                return first
            case StartPlace.END:
                return last
            case StartPlace.TIME_MS:
                found = listed(self.value)
                return {key: last[key] if found[key] < 0 else found[key] for key in partitions}
            case StartPlace.BEFORE_END:
                return {key: max(first[key], last[key] - self.value) for key in partitions}
            case StartPlace.OFFSET:
                return {key: min(max(first[key], self.value), last[key]) for key in partitions}


def start_offset(text: str) -> StartOffset:
    """Parse the argument of an option, for argparse's `type`."""
    if text in {"beginning", "end"}:
        return StartOffset(StartPlace[text.upper()])
    if text.isdecimal():
        return StartOffset(StartPlace.OFFSET, int(text))
    if text[:1] == "-" and text[1:].isdecimal():
        return StartOffset(StartPlace.BEFORE_END, int(text[1:]))
    time = text.removeprefix("s").removeprefix("@")
    if time != text and time.isdecimal():
        return StartOffset(StartPlace.TIME_MS, int(time))
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        at = None
    if at is None or time == text:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {OFFSET_FORMS}")
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return StartOffset(StartPlace.TIME_MS, int(at.timestamp() * 1000))
