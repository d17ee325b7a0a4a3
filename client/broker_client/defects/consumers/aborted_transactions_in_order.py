"""Aborted records are delivered to a read_committed consumer when the broker lists aborted transactions out of order.

A Fetch response names the aborted transactions with their first offsets. The client reads the list once, together
with the batches, and waits at the first entry that is still ahead. If an entry with a lower offset stands behind it,
that transaction's records are delivered. A correct client sorts the list by offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from broker_client.core.consumer.fetch_buffer import FetchBuffer
from broker_client.core.consumer.fetched_batches import FetchedPartition
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.records import TopicPartition
    from protocol_specs.messages.fetch import AbortedTransaction


class AsListed(FetchedPartition):
    """Takes the aborted transactions in the order of the response."""

    def __init__(
        self,
        key: TopicPartition,
        records: bytes | memoryview,
        position: int,
        *,
        aborted: Sequence[AbortedTransaction] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(key, records, position, aborted=aborted, **options)
        if aborted:
            self._aborted = list(reversed(aborted))


class UnsortedBuffer(FetchBuffer):
    """Reads partitions in this way."""

    _partition: ClassVar[type[FetchedPartition]] = AsListed


DEFECT: Final = Defect(
    name="aborted-transactions-in-order",
    lesson=__doc__,
    source="franz-go, changelog of 1.21.4",
    affected="franz-go before 1.21.4",
    anomalies=("aborted-list-unsorted",),
    parts={"fetch_buffer": UnsortedBuffer},
)
