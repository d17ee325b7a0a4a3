"""Fast path that keeps a large batch in the request that brought it: a copy of it would cost more than its validation.

A log changes only the fields before the magic of most batches, so that the first read makes the only copy of the bytes.
docs/design/fast-paths.md has the measured gain.
"""

from __future__ import annotations

from typing import Final

from broker_sim.log.stored_batch import LOG_FIELDS, StoredBatch
from protocol_specs.records.batch_peek import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD

__all__ = ["BESIDE_BATCH_BYTES_MAX", "LARGE_BATCH_BYTES", "ReceivedBatch", "place_in_request"]

LARGE_BATCH_BYTES: Final = 16 * 1024
"""The copy of a smaller batch costs less than this path."""
BESIDE_BATCH_BYTES_MAX: Final = 4096
"""The most bytes of a request that are kept for the sake of one batch."""


def place_in_request(records: bytes | memoryview) -> tuple[bytes, int] | None:
    """Return the request that `records` is a part of and the position of `records` in it.

    A view does not know its position. It is that of the batch's header, if the request has these bytes in one place
    only. None if it has them twice, or if the batch must be copied because it is not a large part of the request. A
    batch has at least LARGE_BATCH_BYTES.
    """
    request = records.obj if isinstance(records, memoryview) else records
    length = len(records)
    if not isinstance(request, bytes):
        return None
    beside = len(request) - length
    if beside > BESIDE_BATCH_BYTES_MAX:
        return None
    header = bytes(records[:RECORD_BATCH_OVERHEAD])
    end = beside + RECORD_BATCH_OVERHEAD
    position = request.find(header, 0, end)
    return None if request.find(header, position + 1, end) >= 0 else (request, position)


class ReceivedBatch(StoredBatch):
    """A batch whose bytes are a part of its request until `data` is read."""

    __slots__ = ("_bytes",)

    _bytes: bytes | memoryview

    @property
    def data(self) -> bytes:
        """The bytes with the fields that the log assigned."""
        if not isinstance(self._bytes, bytes):
            fields = LOG_FIELDS.pack(self.base_offset, self.size - LOG_OVERHEAD, self.leader_epoch)
            self._bytes = fields + self._bytes[LOG_FIELDS.size :]
        return self._bytes

    @data.setter
    def data(self, data: bytes | memoryview) -> None:
        self._bytes = data
