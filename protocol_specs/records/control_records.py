"""Control records: transaction markers, and the kinds that Raft writes. Mirrors EndTransactionMarker.

The key is an int16 version and an int16 type. A transaction marker is alone in its batch; its value is an int16 version
and the int32 epoch of the coordinator that wrote it. A reader accepts higher versions of both. The values that Raft
writes are declared messages, of version 0 in every release so far; a snapshot begins with several in a batch.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import InvalidRecord
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import (
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    TRANSACTIONAL_FLAG_MASK,
)
from protocol_specs.records.lone_batch import LoneBatch, lone_batch
from protocol_specs.records.record_reader import read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocol_specs.message import Message
    from protocol_specs.records.record_reader import Record

CURRENT_CONTROL_RECORD_KEY_VERSION: Final = 0
CURRENT_END_TXN_MARKER_VERSION: Final = 0
CURRENT_QUORUM_MESSAGE_VERSION: Final = 0

_key = struct.Struct(">hh")
_marker = struct.Struct(">hi")
_marker_batch = struct.Struct(">8xi4xb5xB34xi5shhBhiB")
"""Of a batch with one marker: length, magic, the byte with the codec, number of records; of the record the bytes before
the key, the key, the length of the value, the value, the number of headers."""
_BEFORE_KEY: Final = b"\x20\0\0\0\x08"
"""The length of the record, no attributes, deltas of 0, the length of the key."""
_VALUE_LENGTH: Final = 0x0C


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


_COMMIT: Final = ControlRecordType.COMMIT
"""A constant, because looking up a member of an enum is slow."""
_MARKERS: Final = {0: ControlRecordType.ABORT, 1: ControlRecordType.COMMIT}

QUORUM_MESSAGES: Final[Mapping[ControlRecordType, str]] = {
    ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlRecordType.KRAFT_VOTERS: "VotersRecord",
}
"""The declared message that is the value of a control record which Raft writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionMarker:
    """The end of a transaction: commit or abort, and the epoch of the coordinator."""

    control_type: ControlRecordType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        """True if the transaction was committed."""
        return self.control_type is _COMMIT


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
    return lone_marker_batch(
        marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp_ms=timestamp_ms
    ).placed(base_offset, partition_leader_epoch)


def lone_marker_batch(
    marker: EndTransactionMarker, *, producer_id: int, producer_epoch: int, timestamp_ms: int
) -> LoneBatch:
    """Return the batch that ends a transaction, for any log."""
    return lone_batch(
        timestamp_ms,
        _key.pack(CURRENT_CONTROL_RECORD_KEY_VERSION, marker.control_type),
        _marker.pack(CURRENT_END_TXN_MARKER_VERSION, marker.coordinator_epoch),
        attributes=TRANSACTIONAL_FLAG_MASK | CONTROL_FLAG_MASK,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def quorum_control_batch(
    messages: Sequence[Message],
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    version: int = CURRENT_QUORUM_MESSAGE_VERSION,
) -> bytes:
    """Write a batch of Raft's control records. Mirrors MemoryRecords.withLeaderChangeMessage and its siblings.

    Raises ValueError for a message that is none of QUORUM_MESSAGES, and for a leader change without a leader epoch.
    """
    types = {name: control_type for control_type, name in QUORUM_MESSAGES.items()}
    builder = RecordBatchBuilder(
        base_offset=base_offset, partition_leader_epoch=partition_leader_epoch, is_control=True
    )
    for message in messages:
        name = type(message).__name__
        if name not in types:
            raise ValueError(f"{name} is no control record; {', '.join(types)} are")
        if types[name] is ControlRecordType.LEADER_CHANGE and partition_leader_epoch == NO_PARTITION_LEADER_EPOCH:
            raise ValueError("a leader change needs a partition leader epoch")
        key = _key.pack(CURRENT_CONTROL_RECORD_KEY_VERSION, types[name])
        builder.append(timestamp_ms, key, message.encode(version))
    return builder.build()


def control_record_value(
    record: Record, *, version: int = CURRENT_QUORUM_MESSAGE_VERSION
) -> EndTransactionMarker | Message:
    """Decode a control record: a marker, or one of QUORUM_MESSAGES in `version`.

    Raises InvalidRecord, also for an unknown type, and MessageDecodeError.
    """
    control_type = control_record_type(record)
    if control_type in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return end_transaction_marker(record)
    if control_type not in QUORUM_MESSAGES or record.value is None:
        raise InvalidRecord(0, 0, f"control record {control_type.name} has no value that is known")
    from protocol_specs.registry import schema_type

    return schema_type(QUORUM_MESSAGES[control_type]).decode(version, record.value)


def control_record_type(record: Record) -> ControlRecordType:
    """Read the type of a control record. Raises InvalidRecord for an invalid key."""
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


def marker_of_batch(batch: bytes | memoryview) -> EndTransactionMarker | None:
    """Read the marker of a control batch; None if compaction has emptied the batch.

    Raises a RecordBatchError, InvalidRecord for a first record that is no marker.
    """
    if len(batch) == _marker_batch.size:
        # The only layout that brokers write. Every other one is read as any batch is.
        (
            length, magic, attributes, records_count,
            before_key, key_version, control_type, value_length, version, coordinator_epoch, headers_count,
        ) = _marker_batch.unpack(batch)  # fmt: skip
        if (
            length == _marker_batch.size - LOG_OVERHEAD
            and magic == MAGIC_V2
            and not attributes & COMPRESSION_CODEC_MASK
            and records_count == 1
            and before_key == _BEFORE_KEY
            and key_version >= 0
            and control_type in _MARKERS
            and value_length == _VALUE_LENGTH
            and version >= 0
            and not headers_count
        ):
            return marker_of(control_type, coordinator_epoch)
    records = read_records(batch)
    return end_transaction_marker(records[0]) if records else None


@lru_cache
def marker_of(control_type: int, coordinator_epoch: int) -> EndTransactionMarker:
    """Return a marker by the number of its kind; most markers of a coordinator are equal."""
    return EndTransactionMarker(control_type=_MARKERS[control_type], coordinator_epoch=coordinator_epoch)


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
