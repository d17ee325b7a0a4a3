"""Reads records as a broker does in a compressed batch that it keeps: keys, values and record lengths are ignored.

Mirrors DefaultRecord.readPartiallyFrom and PartialDefaultRecord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.record_batch import Record
from protocol_specs.records.varints import decode_varint, decode_varlong

if TYPE_CHECKING:
    from protocol_specs.records.batch_peek import BatchHeader

_INT64_HALF: Final = 1 << 63


def read_partially(section: bytes, header: BatchHeader) -> list[Record]:
    """Read the records of a decompressed section that `walk_records` has accepted as PARTIAL; without headers."""
    log_append_time = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    records: list[Record] = []
    position = 0
    for _ in range(header.records_count):
        _, position = decode_varint(section, position)
        attributes = section[position]
        timestamp_delta, position = decode_varlong(section, position + 1)
        offset_delta, position = decode_varint(section, position)
        key, position = _sized(section, position)
        value, position = _sized(section, position)
        headers, position = decode_varint(section, position)
        for _ in range(headers):
            _, position = _sized(section, position)
            _, position = _sized(section, position)
        timestamp = log_append_time
        if timestamp is None:
            # Java's long addition wraps for hostile deltas.
            timestamp = (header.base_timestamp + timestamp_delta + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF
        offset = header.base_offset + offset_delta
        records.append(Record(offset=offset, timestamp=timestamp, key=key, value=value, attributes=attributes))
    return records


def _sized(section: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = decode_varint(section, position)
    if size < 0:
        return None, position
    return section[position : position + size], position + size
