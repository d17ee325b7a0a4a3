"""A committed offset and its record in `__consumer_offsets`. Mirrors OffsetAndMetadata.

Record versions: key 0 before 0.9. Value v1 has an expiration time, v3 a leader epoch (KIP-320), v4 a topic id.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.message import factory
from protocol_specs.schemas.coordinator.legacy_offset_commit import LegacyOffsetCommitKey, LegacyOffsetCommitValue
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from protocol_specs.schemas.record_serde import encode_key
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from protocol_specs.message import Message

__all__ = [
    "ARRIVAL",
    "NO_EXPIRATION",
    "WITH_TOPIC_ID",
    "CommittedOffset",
    "OffsetCommit",
    "commit_record",
    "key_with_bytes",
    "metadata_is_too_long",
    "packed_value",
    "tombstone",
]

NO_EXPIRATION: Final = -1
NO_LEADER_EPOCH: Final = -1
ARRIVAL: Final = -1
LEGACY_VERSION: Final = 0
WITH_EXPIRATION: Final = 1
WITH_TOPIC_ID: Final = 4
KEYS_MAX: Final = 10_000
"""Most keys of commits that are kept with their bytes."""
_WITHOUT_METADATA: Final = struct.Struct(">hqiBq")
"""A value of version 4 up to its tags: version, offset, leader epoch, length of the metadata, time. It is packed here,
because the encoder of the message takes 5 % of a commit longer."""
_EMPTY: Final = 1
_NO_TAGS: Final = b"\0"
_TOPIC_ID_TAG: Final = b"\1\0\x10"
"""One tag: number 0, 16 bytes."""


class OffsetCommit(NamedTuple):
    """One partition of a request that commits offsets."""

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None
    timestamp_ms: int = ARRIVAL
    """The time that the request states (OffsetCommit v1); ARRIVAL for the time of its arrival."""


def metadata_is_too_long(metadata: str | None, max_bytes: int) -> bool:
    """Compare with `offset.metadata.max.bytes`, as Java does: it counts UTF-16 units."""
    if metadata is None or 2 * len(metadata) <= max_bytes:
        return False  # a character has at most two units
    return len(metadata.encode("utf-16-be", "surrogatepass")) // 2 > max_bytes


class CommittedOffset(NamedTuple):
    """The committed offset of a partition; times in milliseconds since the epoch."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRATION
    """The end of the retention that the request states; NO_EXPIRATION if the group's retention counts."""
    topic_id: bytes = ZERO_UUID
    record_offset: int = -1
    """The offset of the record in its log: of two offsets, one of them transactional, the later record counts."""

    @classmethod
    def of_record(cls, value: Message, record_offset: int) -> CommittedOffset:
        """Return the offset that a record states, in any version."""
        if isinstance(value, LegacyOffsetCommitValue):
            return cls(
                value.offset, NO_LEADER_EPOCH, value.metadata, value.commit_timestamp, record_offset=record_offset
            )
        assert isinstance(value, OffsetCommitValue)
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )


def commit_record(
    group_id: str, commit: OffsetCommit, now_ms: int, expire_timestamp_ms: int, version: int
) -> CoordinatorRecord:
    """Return the record of a commit. `version` is the release's; one with an expiration time is of version 1."""
    metadata = "" if commit.metadata is None else commit.metadata
    timestamp_ms = now_ms if commit.timestamp_ms == ARRIVAL else commit.timestamp_ms
    if version == LEGACY_VERSION:
        return CoordinatorRecord(
            LegacyOffsetCommitKey(group=group_id, topic=commit.topic, partition=commit.partition),
            LegacyOffsetCommitValue(offset=commit.offset, metadata=metadata, commit_timestamp=timestamp_ms),
            version,
        )
    key, encoded_key = key_with_bytes(group_id, commit.topic, commit.partition)
    offset, leader_epoch, topic_id = commit.offset, commit.leader_epoch, commit.topic_id
    value = _value(offset, leader_epoch, metadata, timestamp_ms, expire_timestamp_ms, topic_id)
    if expire_timestamp_ms != NO_EXPIRATION:
        return CoordinatorRecord(key, value, WITH_EXPIRATION, encoded_key)
    if version != WITH_TOPIC_ID or metadata:
        return CoordinatorRecord(key, value, version, encoded_key)
    encoded = packed_value(offset, leader_epoch, timestamp_ms, topic_id)
    return CoordinatorRecord(key, value, version, encoded_key, encoded)


def packed_value(offset: int, leader_epoch: int, timestamp_ms: int, topic_id: bytes) -> bytes:
    """Return the bytes of a value WITH_TOPIC_ID that has no metadata."""
    return _WITHOUT_METADATA.pack(WITH_TOPIC_ID, offset, leader_epoch, _EMPTY, timestamp_ms) + (
        _NO_TAGS if topic_id == ZERO_UUID else _TOPIC_ID_TAG + topic_id
    )


_value: Final = factory(
    OffsetCommitValue, "offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id"
)


@lru_cache(maxsize=KEYS_MAX)
def key_with_bytes(group_id: str, topic: str, partition: int) -> tuple[OffsetCommitKey, bytes]:
    """Return the key of a partition's commits, which repeat it, and its bytes."""
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    return key, encode_key(key)


def tombstone(group_id: str, topic: str, partition: int, *, version: int) -> CoordinatorRecord:
    """Return the record that deletes a committed offset; `version` is that of the release's commits."""
    key = LegacyOffsetCommitKey if version == LEGACY_VERSION else OffsetCommitKey
    return CoordinatorRecord(key(group=group_id, topic=topic, partition=partition), None)
