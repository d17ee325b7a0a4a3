"""Record sets of any magic, as in Fetch responses, Produce requests and segments. Mirrors MemoryRecords.

A set may mix magics: a topic whose format was raised holds messages first and batches after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import CorruptRecordBatch
from protocol_specs.records.batch_peek import (
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    check_batch,
    next_frame,
    peek_header,
)
from protocol_specs.records.message_peek import MessageHeader, check_message, peek_message
from protocol_specs.records.message_set_reader import read_messages
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, Record, read_records

if TYPE_CHECKING:
    from collections.abc import Iterator

AnyHeader = BatchHeader | MessageHeader

MAX_MESSAGE_BYTES: Final = 0x7FFF_FFFF
"""The default of every `max_message_size`, as in Kafka for records in memory."""


def iterate_any(
    buffer: bytes | memoryview, *, max_message_size: int = MAX_MESSAGE_BYTES
) -> Iterator[tuple[AnyHeader, memoryview]]:
    """Walk a record set: header and bytes of each whole batch or message; an incomplete one at the end is ignored.

    Checksums are not verified; wrappers stay compressed. Raises CorruptRecordBatch for an impossible size or magic.
    Mirrors ByteBufferLogInputStream.
    """
    view = memoryview(buffer)
    position = 0
    end = len(view)
    while (frame := next_frame(view, position, end, max_message_size=max_message_size)) is not None:
        magic, next_position = frame
        data = view[position:next_position]
        if magic != MAGIC_V2:
            yield peek_message(data), data
        elif len(data) < RECORD_BATCH_OVERHEAD:
            reason = f"record batch length {len(data) - LOG_OVERHEAD} is less than the minimum of"
            raise CorruptRecordBatch(f"{reason} {RECORD_BATCH_OVERHEAD - LOG_OVERHEAD}")
        else:
            yield peek_header(data), data
        position = next_position


def check_any(buffer: bytes | memoryview) -> AnyHeader:
    """Read the header of the complete and valid batch or message at the start of the buffer. Mirrors ensureValid.

    Errors are those of check_batch and check_message.
    """
    return check_batch(buffer) if _magic(buffer) == MAGIC_V2 else check_message(buffer)


def read_any(batch: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """Read the records of the batch or message at the start of the buffer; checksums are not verified.

    Errors are those of read_records and read_messages.
    """
    if _magic(batch) == MAGIC_V2:
        return read_records(batch, limit_bytes=limit_bytes)
    return read_messages(batch, limit_bytes=limit_bytes)


def read_any_record_set(buffer: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Read the records of every whole batch and message of a record set, in order; control records are among them."""
    for _, batch in iterate_any(buffer):
        yield from read_any(batch, limit_bytes=limit_bytes)


def _magic(buffer: bytes | memoryview) -> int:
    # The batch reader refuses bytes that are too short to have a magic.
    return buffer[MAGIC_OFFSET] if len(buffer) > MAGIC_OFFSET else MAGIC_V2
