from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.groups.offsets.committed_offset import (
    NO_EXPIRATION,
    CommittedOffset,
    OffsetCommit,
    commit_record,
    tombstone,
)
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from protocol_specs.uuids import ZERO_UUID

COMMIT = OffsetCommit("orders", b"i" * 16, 2, 42, 5, None)


@pytest.mark.parametrize(
    ("version", "leader_epoch", "topic_id"),
    [(0, -1, ZERO_UUID), (1, -1, ZERO_UUID), (3, 5, ZERO_UUID), (4, 5, b"i" * 16)],
)
def test_a_record_keeps_what_its_version_has(version: int, leader_epoch: int, topic_id: bytes) -> None:
    record = commit_record("g", COMMIT, now_ms=1_000, expire_timestamp_ms=NO_EXPIRATION, version=version)
    read = CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, *record.encode())
    assert read.version == version
    assert read.value is not None
    assert CommittedOffset.of_record(read.value, 9) == CommittedOffset(
        42, leader_epoch, "", 1_000, NO_EXPIRATION, topic_id, 9
    )


def test_a_record_with_an_expiration_is_of_version_1() -> None:
    record = commit_record("g", COMMIT, now_ms=1_000, expire_timestamp_ms=3_000, version=4)
    read = CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, *record.encode())
    assert read.value is not None
    assert (read.version, CommittedOffset.of_record(read.value, 0).expire_timestamp_ms) == (1, 3_000)


def test_a_request_may_state_the_time_of_a_commit() -> None:
    commit = OffsetCommit("orders", ZERO_UUID, 2, 42, -1, "", timestamp_ms=77)
    record = commit_record("g", commit, now_ms=1_000, expire_timestamp_ms=NO_EXPIRATION, version=3)
    assert record.value is not None
    assert CommittedOffset.of_record(record.value, 0).commit_timestamp_ms == 77


@pytest.mark.parametrize("version", [0, 1, 3])
def test_a_tombstone_has_the_key_of_the_record_that_it_deletes(version: int) -> None:
    record = commit_record("g", COMMIT, now_ms=0, expire_timestamp_ms=NO_EXPIRATION, version=version)
    assert tombstone("g", "orders", 2, version=version).encode() == (record.encode()[0], None)


@given(
    version=st.sampled_from([1, 3, 4, 4]),
    offset=st.integers(-(2**63), 2**63 - 1),
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.sampled_from([None, "", "note"]),
    topic_id=st.sampled_from([ZERO_UUID, b"i" * 16]),
    expires=st.sampled_from([NO_EXPIRATION, 3_000]),
)
def test_a_packed_value_has_the_bytes_of_the_encoder(
    version: int, offset: int, leader_epoch: int, metadata: str | None, topic_id: bytes, expires: int
) -> None:
    commit = OffsetCommit("orders", topic_id, 2, offset, leader_epoch, metadata)
    record = commit_record("g", commit, now_ms=1_000, expire_timestamp_ms=expires, version=version)
    assert record.encode() == record._replace(encoded_key=None, encoded_value=None).encode()
