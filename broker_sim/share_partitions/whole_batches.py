"""Which of the batches of a read a ShareFetch uses and sends. Mirrors ShareFetchUtils.maybeSliceFetchRecords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["overlapping_batches", "whole_batches"]

_HEAD: Final = 12
"""The bytes of a batch before those that its length counts."""


def whole_batches(batches: Sequence[StoredBatch]) -> list[StoredBatch]:
    """Return the batches without a fragment at the end, which the size limit of the read leaves."""
    return [batch for batch in batches if not _is_fragment(batch)]


def _is_fragment(batch: StoredBatch) -> bool:
    data = batch.data
    return len(data) < _HEAD or len(data) < _HEAD + int.from_bytes(data[8:_HEAD], "big")


def overlapping_batches(batches: Sequence[StoredBatch], first_offset: int, last_offset: int) -> list[StoredBatch]:
    """Return the batches with offsets of a range; a read with one whole batch is sent as it is."""
    whole = whole_batches(batches)
    if len(whole) == 1:
        return list(batches)
    begin = max((index for index, batch in enumerate(whole) if batch.base_offset <= first_offset), default=0)
    return [
        batch
        for index, batch in enumerate(whole)
        if index == begin or (index > begin and batch.base_offset <= last_offset)
    ]
