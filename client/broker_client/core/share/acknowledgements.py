"""The acknowledgements of one partition, and their form in requests. Mirrors Acknowledgements."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from broker_client.share_groups import AcknowledgeType, TopicIdPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.errors import ProducerError

__all__ = ["AcknowledgedRange", "Acknowledgements", "ByPartition", "NodeAcknowledgements"]

GAP: Final = 0
"""The type of an acquired offset without a record: compacted, or a control record."""
SAME_TYPES_MAX: Final = 10
"""Longer runs of one type are a range of their own with a single type."""


class AcknowledgedRange(NamedTuple):
    """Consecutive offsets; one type stands for all of them, else there is a type per offset."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class Acknowledgements:
    """Types by offset; `error` is that of the broker's response once `is_completed`."""

    __slots__ = ("error", "is_completed", "types")

    def __init__(self) -> None:
        self.types: dict[int, AcknowledgeType | None] = {}
        self.error: ProducerError | None = None
        self.is_completed = False

    def __bool__(self) -> bool:
        return bool(self.types)

    def add(self, offset: int, kind: AcknowledgeType | None) -> None:
        """Replace the type of an offset; None marks a gap."""
        self.types[offset] = kind

    def add_if_absent(self, offset: int, kind: AcknowledgeType) -> bool:
        """Add the type of an offset; return False if it has one."""
        if offset in self.types:
            return False
        self.types[offset] = kind
        return True

    def merge(self, other: Acknowledgements) -> None:
        """Add those of another set, which win."""
        self.types.update(other.types)

    def complete(self, error: ProducerError | None) -> None:
        """Record the outcome of the request."""
        self.error = error
        self.is_completed = True

    @property
    def has_renewals(self) -> bool:
        """True if a lock is to be renewed."""
        return AcknowledgeType.RENEW in self.types.values()

    def ranges(self) -> list[AcknowledgedRange]:
        """Return the ranges of a request, by offset."""
        found: list[AcknowledgedRange] = []
        run: list[int] = []
        first = 0
        for offset in sorted(self.types):
            if run and offset != first + len(run):
                found += _compact(first, run)
                run = []
            if not run:
                first = offset
            run.append(self.types[offset] or GAP)
        found += _compact(first, run)
        return found


def _compact(first: int, types: list[int]) -> Iterator[AcknowledgedRange]:
    """Split consecutive offsets at long runs of one type."""
    pending: list[int] = []
    for kind, same in groupby(types):
        count = len(list(same))
        if count <= SAME_TYPES_MAX:
            pending += [kind] * count
            continue
        if pending:
            yield _range(first, pending)
            first += len(pending)
            pending = []
        yield AcknowledgedRange(first, first + count - 1, [kind])
        first += count
    if pending:
        yield _range(first, pending)


def _range(first: int, types: list[int]) -> AcknowledgedRange:
    return AcknowledgedRange(first, first + len(types) - 1, types[:1] if len(set(types)) == 1 else types)


ByPartition: TypeAlias = dict[TopicIdPartition, Acknowledgements]


class NodeAcknowledgements(NamedTuple):
    """Acknowledgements for the node whose share session delivered the records."""

    node_id: int
    acknowledgements: Acknowledgements
