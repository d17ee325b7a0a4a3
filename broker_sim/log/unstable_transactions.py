"""The transactions of one log that hold back its last stable offset. Mirrors ProducerStateManager's ongoingTxns and
unreplicatedTxns with TxnMetadata.

A transaction is ongoing from its first batch to its marker. After that it is unreplicated until the high watermark
passes the marker: a consumer must not see the records before it can see the outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["NOTHING_UNSTABLE", "UnstableTransactions"]

NOTHING_UNSTABLE: Final = 2**63 - 1


class UnstableTransactions:
    """Ongoing transactions by start offset, and completed ones whose marker is at or above the high watermark."""

    __slots__ = ("_ongoing", "first_unstable_offset", "unreplicated")

    def __init__(self) -> None:
        self._ongoing: dict[int, int] = {}
        """The producer id by start offset; transactions begin in the order of their offsets."""
        self.unreplicated: dict[int, int] = {}
        """The offset of the marker by start offset."""
        self.first_unstable_offset = NOTHING_UNSTABLE
        """The smallest start offset of both kinds, NOTHING_UNSTABLE without any."""

    @property
    def oldest_producer_id(self) -> int | None:
        """The producer of the first ongoing transaction."""
        return next(iter(self._ongoing.values()), None)

    def begin(self, start_offset: int, producer_id: int) -> None:
        """Add a transaction that begins at the end of the log."""
        self._ongoing[start_offset] = producer_id
        self.first_unstable_offset = min(self.first_unstable_offset, start_offset)

    def restore(self, ongoing: dict[int, int]) -> None:
        """Replace everything by the ongoing transactions of a producer snapshot."""
        self._ongoing = {start: ongoing[start] for start in sorted(ongoing)}
        self.unreplicated = {}
        self._update()

    def forget_unreplicated(self) -> None:
        """Remove the completed transactions: the snapshot from which a broker loads its log does not have them."""
        self.unreplicated = {}
        self._update()

    def stable_offset_after(self, producer_id: int, marker_offset: int) -> int:
        """Return the last stable offset when the producer's transaction ends. Mirrors lastStableOffset(CompletedTxn).

        It is the start of the first transaction of another producer, else the offset after the marker.
        """
        for start_offset, other in self._ongoing.items():
            if other != producer_id:
                return start_offset
        return marker_offset + 1

    def complete(self, start_offset: int, marker_offset: int) -> None:
        """End a transaction by its marker."""
        del self._ongoing[start_offset]
        self.unreplicated[start_offset] = marker_offset
        self._update()

    def remove_of(self, producer_ids: Collection[int]) -> None:
        """Remove the ongoing transactions of forgotten producers."""
        self._ongoing = {start: producer for start, producer in self._ongoing.items() if producer not in producer_ids}
        self._update()

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Remove the completed transactions whose marker is below the high watermark."""
        self.unreplicated = {start: marker for start, marker in self.unreplicated.items() if marker >= high_watermark}
        self._update()

    def _update(self) -> None:
        first = next(iter(self._ongoing), NOTHING_UNSTABLE)
        self.first_unstable_offset = min(first, *self.unreplicated) if self.unreplicated else first
