from __future__ import annotations

from random import Random

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.record_batch import RecordBatchBuilder

NOW_MS = 1_767_225_600_000
BATCH_BYTES = 100


def log_with(*, random: Random | None = None, release: str = "3.7.2", **topic: str) -> ReplicaLog:
    broker = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve({name.replace("_", "."): value for name, value in topic.items()}, broker)
    return ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=NOW_MS, random=random)


def append(log: ReplicaLog, *, timestamp: int = NOW_MS, now_ms: int = NOW_MS) -> None:
    builder = RecordBatchBuilder()
    builder.append(timestamp, b"k", bytes(BATCH_BYTES - 69))
    info = log.append_as_leader(builder.build(), leader_epoch=0, now_ms=now_ms)
    assert info.batches[0].size == BATCH_BYTES


def bases(log: ReplicaLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_a_full_offset_index_closes_the_segment() -> None:
    log = log_with(index_interval_bytes="0", segment_index_bytes="96")
    for number in range(30):
        append(log, timestamp=NOW_MS - number)
    # The first batch has no entry: 12 entries of 8 bytes are full with the thirteenth one.
    assert bases(log) == [0, 13, 26]


def test_a_full_time_index_closes_the_segment_an_entry_early() -> None:
    log = log_with(index_interval_bytes="0", segment_index_bytes="48")
    for number in range(10):
        append(log, timestamp=NOW_MS + number)
    # Times that grow: of 4 entries of 12 bytes the last one is for the end.
    assert bases(log) == [0, 4, 8]


def test_an_index_has_an_entry_for_each_interval() -> None:
    log = log_with(index_interval_bytes="250", segment_index_bytes="8")
    for number in range(8):
        append(log, timestamp=NOW_MS - number)
    assert bases(log) == [0, 1, 2, 3, 4, 5, 6, 7], "a time index of no entry is always full"
    log = log_with(index_interval_bytes="250", segment_index_bytes="24")
    for number in range(12):
        append(log, timestamp=NOW_MS - number)
    assert bases(log) == [0, 4, 8], "the batch after 300 bytes has the first entry"


@pytest.mark.parametrize(("policy", "expected"), [("delete", [0]), ("compact", [0, 2])])
def test_max_compaction_lag_ms_closes_segments_of_compacted_topics(policy: str, expected: list[int]) -> None:
    log = log_with(cleanup_policy=policy, max_compaction_lag_ms="1000")
    append(log)
    append(log, timestamp=NOW_MS + 1000)
    append(log, timestamp=NOW_MS + 1001)
    assert bases(log) == expected


def test_jitter_closes_segments_earlier_by_less_than_itself() -> None:
    rolled_at = []
    for seed in range(20):
        log = log_with(random=Random(seed), segment_ms="1000", segment_jitter_ms="400")
        for later in range(1100):
            append(log, timestamp=NOW_MS + later)
            if len(log.segments) == 2:
                rolled_at.append(later)
                break
    assert len(rolled_at) == 20
    assert min(rolled_at) > 600
    assert max(rolled_at) <= 1001
    assert len({*rolled_at}) > 5


def test_newer_releases_have_a_name_of_their_own_for_small_segments() -> None:
    log = log_with(release="4.3.1", internal_segment_bytes="150")
    append(log)
    append(log)
    assert bases(log) == [0, 1]


def test_truncation_makes_room_in_the_indexes_again() -> None:
    log = log_with(index_interval_bytes="0", segment_index_bytes="96")
    for number in range(13):
        append(log, timestamp=NOW_MS - number)
    assert log.segments[0].indexes_full
    log.truncate_to(2)
    assert not log.segments[0].indexes_full
    for number in range(12):
        append(log, timestamp=NOW_MS - number)
    assert bases(log) == [0, 13]
