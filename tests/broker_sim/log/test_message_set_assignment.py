"""Logs of magic 0 and 1: what is stored, and when segments roll and expire."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.log.retention import delete_old_segments
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_set import read_any

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000


def old_log(release: str, now_ms: int = NOW_MS, **topic: str) -> ReplicaLog:
    broker = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve({name.replace("_", "."): value for name, value in topic.items()}, broker)
    return ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=now_ms)


def append(
    log: ReplicaLog,
    *timestamps: int,
    magic: int,
    now_ms: int = NOW_MS,
    codec: CompressionCodec = CompressionCodec.NONE,
) -> None:
    builder = MessageSetBuilder(magic=magic, codec=codec)
    for timestamp in timestamps:
        builder.append(timestamp, b"k", b"v")
    log.append_as_leader(builder.build(), leader_epoch=3, now_ms=now_ms)
    log.update_high_watermark(log.log_end_offset)


def bases(log: ReplicaLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


# Files' times count up to 0.10.0, not those of the records.


@pytest.mark.parametrize(
    ("release", "magic", "timestamp"),
    [("0.8.1", 0, -1), ("0.9", 0, -1), ("0.10.0", 1, NOW_MS + 100 * HOUR_MS), ("0.10.0", 1, 5)],
)
def test_segments_roll_by_the_clock_up_to_0_10_0(release: str, magic: int, timestamp: int) -> None:
    log = old_log(release, segment_ms=str(HOUR_MS))
    append(log, timestamp, magic=magic)
    append(log, timestamp, magic=magic, now_ms=NOW_MS + HOUR_MS)
    assert bases(log) == [0]
    append(log, timestamp, magic=magic, now_ms=NOW_MS + HOUR_MS + 1)
    assert bases(log) == [0, 2]


@pytest.mark.parametrize(
    ("release", "magic", "timestamp"),
    [("0.8.1", 0, -1), ("0.9", 0, -1), ("0.10.0", 1, NOW_MS + 100 * HOUR_MS), ("0.10.0", 1, 5)],
)
def test_segments_expire_by_their_last_change_up_to_0_10_0(release: str, magic: int, timestamp: int) -> None:
    log = old_log(release, retention_ms=str(10 * HOUR_MS), segment_ms=str(HOUR_MS))
    append(log, timestamp, magic=magic)
    append(log, timestamp, magic=magic, now_ms=NOW_MS + HOUR_MS)
    append(log, timestamp, magic=magic, now_ms=NOW_MS + 3 * HOUR_MS)
    assert bases(log) == [0, 2]
    assert delete_old_segments(log, NOW_MS + 11 * HOUR_MS) == 0
    assert delete_old_segments(log, NOW_MS + 11 * HOUR_MS + 1) == 1
    assert bases(log) == [2]


# From 0.10.1 on records' timestamps count, and files' times where there are none (KIP-33).


@pytest.mark.parametrize("release", ["0.10.1", "2.8"])
def test_segments_roll_and_expire_by_timestamps_from_0_10_1_on(release: str) -> None:
    log = old_log(release, retention_ms=str(10 * HOUR_MS), segment_ms=str(HOUR_MS), message_format_version="0.10.0")
    append(log, NOW_MS - 20 * HOUR_MS, magic=1)
    append(log, NOW_MS - 20 * HOUR_MS, magic=1, now_ms=NOW_MS + 5 * HOUR_MS)
    assert bases(log) == [0]
    append(log, NOW_MS, magic=1)
    assert bases(log) == [0, 2]
    assert delete_old_segments(log, NOW_MS) == 1


@pytest.mark.parametrize("release", ["0.10.1", "1.1", "2.8"])
def test_messages_without_timestamps_go_by_the_clock_in_every_release(release: str) -> None:
    log = old_log(release, retention_ms=str(10 * HOUR_MS), segment_ms=str(HOUR_MS), message_format_version="0.9.0")
    append(log, -1, magic=0)
    append(log, -1, magic=0, now_ms=NOW_MS + HOUR_MS)
    append(log, -1, magic=0, now_ms=NOW_MS + HOUR_MS + 1)
    assert bases(log) == [0, 2]
    assert delete_old_segments(log, NOW_MS + 11 * HOUR_MS) == 0
    assert delete_old_segments(log, NOW_MS + 11 * HOUR_MS + 1) == 1


# What is stored.


@pytest.mark.parametrize(("release", "magic"), [("0.9", 0), ("0.10.2", 1)])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.LZ4])
def test_a_follower_holds_the_leaders_messages_and_no_leader_epoch(
    release: str, magic: int, codec: CompressionCodec
) -> None:
    leader, follower = old_log(release), old_log(release)
    for _ in range(2):
        append(leader, NOW_MS, NOW_MS + 1, magic=magic, codec=codec)
    follower.append_as_follower(list(leader.batches()), now_ms=NOW_MS)
    assert [batch.data for batch in follower.batches()] == [batch.data for batch in leader.batches()]
    assert (leader.epochs.latest_epoch, follower.epochs.latest_epoch) == (None, None)
    offsets = [record.offset for batch in follower.batches() for record in read_any(batch.data)]
    assert (offsets, follower.log_end_offset) == ([0, 1, 2, 3], 4)


def test_a_set_of_messages_never_parts_over_segments() -> None:
    log = old_log("0.10.2", segment_bytes="200")
    append(log, NOW_MS, NOW_MS, magic=1)
    append(log, NOW_MS, NOW_MS, NOW_MS, NOW_MS, magic=1)
    assert bases(log) == [0, 2]


def test_a_set_that_is_larger_than_a_segment_is_refused() -> None:
    log = old_log("0.10.2", segment_bytes="100")
    with pytest.raises(RecordsRefused) as refused:
        append(log, *[NOW_MS] * 10, magic=1)
    assert refused.value.error_code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_a_message_set_without_a_whole_message_is_nowhere() -> None:
    assert old_log("0.9").append_as_leader(b"\0" * 10, leader_epoch=0, now_ms=NOW_MS).base_offset == -1


def test_log_append_time_stamps_messages_of_magic_1() -> None:
    log = old_log("0.10.2", message_timestamp_type="LogAppendTime")
    append(log, 5, 6, magic=1)
    assert [record.timestamp for batch in log.batches() for record in read_any(batch.data)] == [NOW_MS, NOW_MS]
