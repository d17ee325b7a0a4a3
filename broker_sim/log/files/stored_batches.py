"""The batches in the bytes of a log file, of any magic. Mirrors FileLogInputStream.

`all_batches` trusts a file after an orderly stop, `sound_batches` validates each batch (DefaultRecordBatch and
LegacyRecord ensureValid) and ends at the first invalid one.
"""

from __future__ import annotations

from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.stored_batch import StoredBatch
from protocol_specs.errors import ProtocolError, RecordBatchError
from protocol_specs.records.batch_peek import MAGIC_OFFSET, MAGIC_V2, check_batch, peek_header

__all__ = ["all_batches", "sound_batches"]


def all_batches(data: bytes, path: str) -> tuple[list[StoredBatch], int]:
    """Return all batches of a trusted file.

    Raises:
        CorruptFile: A file cannot be read.
    """
    batches: list[StoredBatch] = []
    position = 0
    while position < len(data):
        try:
            batch = _batch_at(data, position)
        except RecordBatchError as error:
            raise CorruptFile(path, position, str(error)) from error
        end = position + batch.size
        if batch.size <= 0 or end > len(data):
            problem = f"a batch of {batch.size} bytes at offset {batch.base_offset}, "
            raise CorruptFile(path, position, f"{problem}but {len(data) - position} bytes are left")
        if batches and batch.base_offset <= batches[-1].last_offset:
            problem = f"a batch at offset {batch.base_offset} after one that ends at {batches[-1].last_offset}"
            raise CorruptFile(path, position, problem)
        batches.append(batch)
        position = end
    return batches, position


def sound_batches(data: bytes, base_offset: int) -> tuple[list[StoredBatch], int]:
    """Return the batches up to the first invalid one, and the position of that one."""
    batches: list[StoredBatch] = []
    position = 0
    next_offset = base_offset
    while position < len(data):
        try:
            batch = _batch_at(data, position, check=True)
        except ProtocolError:
            break
        if batch.base_offset < next_offset or batch.last_offset < batch.base_offset:
            break
        batches.append(batch)
        position += batch.size
        next_offset = batch.next_offset
    return batches, position


def _batch_at(data: bytes, position: int, *, check: bool = False) -> StoredBatch:
    if len(data) - position > MAGIC_OFFSET and data[position + MAGIC_OFFSET] < MAGIC_V2:
        return _message_at(data, position, check=check)
    header = (check_batch if check else peek_header)(data, position)
    size = header.size_in_bytes
    stored = StoredBatch.of(header, data[position : position + size])
    stored.size = size
    return stored


def _message_at(data: bytes, position: int, *, check: bool) -> StoredBatch:
    from broker_sim.log.message_set_assignment import stored_message
    from protocol_specs.records.message_peek import check_message, peek_message
    from protocol_specs.records.message_set_reader import read_messages

    header = (check_message if check else peek_message)(data, position)
    message = data[position : position + header.size_in_bytes]
    first_offset = header.offset
    if header.is_compressed and len(message) == header.size_in_bytes:
        # A wrapper has the offset of its last message: where it begins is known inside alone.
        first_offset = next((record.offset for record in read_messages(message)), first_offset)
    stored = stored_message(message, first_offset, header.offset, header.max_timestamp)
    stored.size = header.size_in_bytes
    return stored
