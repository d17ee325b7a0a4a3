"""The topics and partitions that a message names, at any depth, by name or by topic id."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol_specs.entities import struct_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Struct

__all__ = ["partitions_in"]

TOPIC_NAME: Final = "topicName"
_TOPIC_ID: Final = "topic_id"
_INDEXES: Final = frozenset(
    {"partition", "partition_index", "index", "partition_id", "partitions", "partition_indexes"}
)
"""The fields whose value is the number of a partition, or a list of them."""


def partitions_in(message: Struct | None, name_of: Callable[[bytes], str | None]) -> Iterator[tuple[str, int | None]]:
    """Iterate over the topics of a message with their partitions; None where a topic stands without one.

    `name_of` returns the name of the topic with an id, None for an unknown id.
    """
    if message is not None:
        yield from _named(message, None, name_of)


class _Plan(NamedTuple):
    names: tuple[str, ...]
    has_id: bool
    indexes: tuple[str, ...]
    structs: tuple[str, ...]


def _named(
    struct: Struct, outer: str | None, name_of: Callable[[bytes], str | None]
) -> Iterator[tuple[str, int | None]]:
    plan = _plan(type(struct))  # type: ignore[arg-type]
    topics = [name for name in _values(struct, plan.names) if name]
    if not topics and plan.has_id:
        known = name_of(struct.topic_id)  # type: ignore[attr-defined]
        topics = [] if known is None else [known]
    topic = topics[0] if len(topics) == 1 else outer
    found = False
    if topic is not None:
        for index in _values(struct, plan.indexes):
            if isinstance(index, int):
                found = True
                yield topic, index
    for element in _values(struct, plan.structs):
        for each in _named(element, topic, name_of):
            found = True
            yield each
    if not found:
        yield from ((name, None) for name in topics)


def _values(struct: Struct, names: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        value = getattr(struct, name)
        if value is not None:
            yield from value if isinstance(value, list) else (value,)


@cache
def _plan(cls: type[Struct]) -> _Plan:
    names, indexes, structs = [], [], []
    for field in cls.FIELDS:
        if field.entity == TOPIC_NAME:
            names.append(field.name)
        elif struct_of(field) is not None:
            structs.append(field.name)
        elif field.name in _INDEXES:
            indexes.append(field.name)
    has_id = any(field.name == _TOPIC_ID for field in cls.FIELDS)
    return _Plan(tuple(names), has_id, tuple(indexes), tuple(structs))
