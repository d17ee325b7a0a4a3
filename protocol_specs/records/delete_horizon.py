"""The delete horizon of a batch of magic 2: when compaction may drop its tombstones or marker (KIP-534).

The horizon takes the place of the base timestamp, and a flag in the attributes says so; the records keep their
timestamps, because their deltas count from the horizon then; in a LogAppendTime batch those are the broker's. Mirrors
MemoryRecordsBuilder with deleteHorizonMs, as the log cleaner uses it.
"""

from __future__ import annotations

from typing import Final

from protocol_specs.errors import InvalidRecord
from protocol_specs.records.batch_builder import encode_record_body, seal_batch
from protocol_specs.records.batch_peek import DELETE_HORIZON_FLAG_MASK, check_batch
from protocol_specs.records.compression import compress
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, read_records
from protocol_specs.records.varints import encode_varint

_KEPT_ATTRIBUTES: Final = 0x3F
"""What Kafka knows of the attributes beside the flag."""


def with_delete_horizon(
    batch: bytes | memoryview,
    delete_horizon_ms: int,
    *,
    level: int | None = None,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> bytes:
    """Answer the sound batch with a delete horizon, its records written anew with the same codec.

    ValueError for a negative horizon, which Kafka takes for none.
    """
    if delete_horizon_ms < 0:
        raise ValueError(f"delete horizon {delete_horizon_ms} is negative")
    header = check_batch(batch)
    if header.records_count <= 0:
        raise InvalidRecord(0, 0, f"a batch of {header.records_count} records has no delete horizon")
    parts: list[bytes] = []
    for record in read_records(batch, limit_bytes=limit_bytes):
        body = encode_record_body(
            record.timestamp - delete_horizon_ms,
            record.offset - header.base_offset,
            record.key,
            record.value,
            record.headers,
        )
        parts += (encode_varint(len(body)), body)
    return seal_batch(
        compress(header.codec, b"".join(parts), level),
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & _KEPT_ATTRIBUTES | DELETE_HORIZON_FLAG_MASK,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=delete_horizon_ms,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=header.records_count,
    )
