"""Rewrites a batch of magic 2 with the records that compaction retains. Mirrors MemoryRecords.

The batch can get a delete horizon (KIP-534), the time from which compaction drops its tombstones or its marker. The
horizon replaces the base timestamp and sets a flag in the attributes. The records keep their timestamps, because their
deltas count from the horizon then. In a LogAppendTime batch those timestamps are the broker's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.records.batch_builder import encode_record_body, seal_batch
from protocol_specs.records.batch_peek import DELETE_HORIZON_FLAG_MASK, TimestampType
from protocol_specs.records.compression import compress
from protocol_specs.records.varints import encode_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.record_reader import Record

_KNOWN_ATTRIBUTES: Final = 0x3F
"""The attributes that Kafka knows, apart from the flag of the delete horizon."""


def retained_batch(
    header: BatchHeader, records: Sequence[Record], *, delete_horizon_ms: int | None = None, level: int | None = None
) -> bytes:
    """Return the batch with these of its records and the same codec. Mirrors MemoryRecords.buildRetainedRecordsInto.

    Raises ValueError without records, and for a negative horizon, which means none in Kafka.
    """
    if not records:
        raise ValueError("no records are retained: use empty_batch")
    if delete_horizon_ms is not None and delete_horizon_ms < 0:
        raise ValueError(f"delete horizon {delete_horizon_ms} is negative")
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    parts: list[bytes] = []
    for record in records:
        body = encode_record_body(
            record.timestamp - base_timestamp,
            record.offset - header.base_offset,
            record.key,
            record.value,
            record.headers,
        )
        parts += (encode_varint(len(body)), body)
    max_timestamp = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        max_timestamp = max(record.timestamp for record in records)
    horizon_flag = 0 if delete_horizon_ms is None else DELETE_HORIZON_FLAG_MASK
    return seal_batch(
        compress(header.codec, b"".join(parts), level),
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & _KNOWN_ATTRIBUTES | horizon_flag,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=len(records),
    )
