"""The index of a segment's aborted transactions, and the search in the indexes of a log. Mirrors TransactionIndex,
AbortedTxn and LocalLog.collectAbortedTransactions.

A transaction is in the index of the segment that has its abort marker, which may be a later segment than the one with
its records. The entries of a segment are in the order of their markers.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.log.log_segment import LogSegment

__all__ = ["AbortedTransaction", "collect_aborted", "kept_before"]


class AbortedTransaction(NamedTuple):
    """One aborted transaction: from its first record to its marker, with the last stable offset after the marker.

    In Kafka's releases before 2.8 the marker of an empty transaction has an entry too, whose two offsets are equal.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def collect_aborted(
    segments: Iterable[LogSegment], fetch_offset: int, upper_bound_offset: int
) -> list[AbortedTransaction]:
    """Return the aborted transactions of a range of offsets; `segments` begin with the one that holds `fetch_offset`.

    The search ends at the first entry at whose time everything below `upper_bound_offset` was decided: a transaction
    that was aborted later cannot begin in the range.
    """
    found: list[AbortedTransaction] = []
    for segment in segments:
        entries = segment.aborted_transactions
        for index in range(bisect_left(entries, fetch_offset, key=_last_offset), len(entries)):
            entry = entries[index]
            if entry.first_offset < upper_bound_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound_offset:
                return found
    return found


def kept_before(entries: Sequence[AbortedTransaction], offset: int) -> list[AbortedTransaction]:
    """Return the entries whose marker is below an offset, at which the segment is truncated."""
    return list(entries[: bisect_left(entries, offset, key=_last_offset)])


def _last_offset(entry: AbortedTransaction) -> int:
    return entry.last_offset
