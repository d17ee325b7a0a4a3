"""Control records: transaction markers, and the kinds that Raft writes. Mirrors EndTransactionMarker.

A control batch holds one record. Its key is an int16 version and an int16 type; the value of a transaction marker is an
int16 version and the int32 epoch of the coordinator that wrote it. A reader accepts higher versions of both.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import InvalidRecord
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import NO_PARTITION_LEADER_EPOCH

if TYPE_CHECKING:
    from protocol_specs.records.record_reader import Record

CURRENT_CONTROL_RECORD_KEY_VERSION: Final = 0
CURRENT_END_TXN_MARKER_VERSION: Final = 0

_key = struct.Struct(">hh")
_marker = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """The type in a control record's key; types of later releases are UNKNOWN."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(slots=True, kw_only=True)
class EndTransactionMarker:
    """How a transaction ended, and by which coordinator."""

    control_type: ControlRecordType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        """Whether the transaction was committed."""
        return self.control_type is ControlRecordType.COMMIT


def end_transaction_marker_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Write the batch that ends a transaction in one partition. Mirrors MemoryRecords.withEndTransactionMarker."""
    builder = RecordBatchBuilder(
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    key = _key.pack(CURRENT_CONTROL_RECORD_KEY_VERSION, marker.control_type)
    builder.append(timestamp_ms, key, _marker.pack(CURRENT_END_TXN_MARKER_VERSION, marker.coordinator_epoch))
    return builder.build()


def control_record_type(record: Record) -> ControlRecordType:
    """Read the type of a control record; raises InvalidRecord for a key that is none."""
    key = record.key
    if key is None or len(key) < _key.size:
        raise InvalidRecord(0, 0, f"control record key of {len(key or b'')} bytes, {_key.size} are needed")
    version, control_type = _key.unpack_from(key)
    if version < 0:
        raise InvalidRecord(0, 0, f"control record key version {version} is negative")
    try:
        return ControlRecordType(control_type)
    except ValueError:
        return ControlRecordType.UNKNOWN


def end_transaction_marker(record: Record) -> EndTransactionMarker:
    """Read a transaction marker; raises InvalidRecord for any other record."""
    control_type = control_record_type(record)
    if control_type not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        raise InvalidRecord(0, 0, f"control record {control_type.name} ends no transaction")
    value = record.value
    if value is None or len(value) < _marker.size:
        raise InvalidRecord(0, 0, f"transaction marker of {len(value or b'')} bytes, {_marker.size} are needed")
    version, coordinator_epoch = _marker.unpack_from(value)
    if version < 0:
        raise InvalidRecord(0, 0, f"transaction marker version {version} is negative")
    return EndTransactionMarker(control_type=control_type, coordinator_epoch=coordinator_epoch)
