from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.log.retention import delete_old_segments
from protocol_specs.records.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW_MS = 1_767_225_600_000
BROKER = BrokerConfig.parse({}, release="3.7.2")
BATCH_BYTES = 78


def log_with(timestamps: Sequence[int], *, high_watermark: int | None = None, **topic: str) -> ReplicaLog:
    """A log with a segment for each timestamp."""
    overrides = {name.replace("_", "."): value for name, value in topic.items()} | {"segment.bytes": str(BATCH_BYTES)}
    config = TopicConfig.resolve(overrides, BROKER)
    log = ReplicaLog(topic="t", partition=0, config=config, broker_config=BROKER, now_ms=NOW_MS)
    for timestamp in timestamps:
        builder = RecordBatchBuilder()
        builder.append(timestamp, b"k", bytes(9))
        assert log.append_as_leader(builder.build(), leader_epoch=0, now_ms=NOW_MS).batches[0].size == BATCH_BYTES
    log.update_high_watermark(log.log_end_offset if high_watermark is None else high_watermark)
    return log


def bases(log: ReplicaLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_segments_older_than_retention_ms_go_from_the_oldest_on() -> None:
    log = log_with([NOW_MS - 1001, NOW_MS - 1001, NOW_MS - 1000, NOW_MS - 5000], retention_ms="1000")
    assert delete_old_segments(log, NOW_MS) == 2
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([2, 3], 2, 4)


def test_the_active_segment_goes_too_and_an_empty_one_begins_at_the_end() -> None:
    log = log_with([0, 1, 2], retention_ms="1000")
    assert delete_old_segments(log, NOW_MS) == 3
    assert (bases(log), log.log_start_offset, log.size_in_bytes) == ([3], 3, 0)
    assert delete_old_segments(log, NOW_MS + 10_000_000) == 0


def test_nothing_above_the_high_watermark_goes() -> None:
    log = log_with([0, 1, 2], retention_ms="1000", high_watermark=1)
    assert delete_old_segments(log, NOW_MS) == 1
    assert bases(log) == [1, 2]


def test_a_negative_retention_keeps_everything() -> None:
    log = log_with([0, 1, 2], retention_ms="-1")
    assert delete_old_segments(log, NOW_MS) == 0


def test_a_topic_that_is_only_compacted_keeps_what_is_above_its_start() -> None:
    log = log_with([0, 1, 2], retention_ms="1", retention_bytes="1", cleanup_policy="compact")
    assert delete_old_segments(log, NOW_MS) == 0
    log.maybe_increment_log_start_offset(2)
    assert delete_old_segments(log, NOW_MS) == 2
    assert bases(log) == [2]


def test_records_without_timestamps_are_as_old_as_the_segments_last_change() -> None:
    log = log_with([-1, -1], retention_ms="1000")
    assert delete_old_segments(log, NOW_MS + 1000) == 0
    assert delete_old_segments(log, NOW_MS + 1001) == 2


@given(
    count=st.integers(min_value=1, max_value=8),
    retention_bytes=st.integers(min_value=0, max_value=8 * BATCH_BYTES),
    high_watermark=st.integers(min_value=0, max_value=8),
)
def test_size_retention_keeps_the_fewest_segments_that_hold_the_bytes(
    count: int, retention_bytes: int, high_watermark: int
) -> None:
    mark = min(high_watermark, count)
    log = log_with([NOW_MS] * count, retention_bytes=str(retention_bytes), retention_ms="-1", high_watermark=mark)
    delete_old_segments(log, NOW_MS)
    left = -(-retention_bytes // BATCH_BYTES)
    assert log.log_start_offset == min(max(count - left, 0), mark)
    assert log.segments[0].base_offset <= log.log_start_offset


def test_producers_outlive_the_segments_of_their_batches() -> None:
    log = log_with([0, 1], retention_ms="1000")
    builder = RecordBatchBuilder(producer_id=7, producer_epoch=0, base_sequence=0)
    builder.append(2, None, bytes(10))
    log.append_as_leader(builder.build(), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(3)
    delete_old_segments(log, NOW_MS)
    assert list(log.producers.active_producers) == [7]
    builder = RecordBatchBuilder()
    builder.append(NOW_MS, None, bytes(10))
    log.append_as_leader(builder.build(), leader_epoch=0, now_ms=NOW_MS)
    assert log.producers.active_producers[7].last_sequence == 0
    log.truncate_to(3)
    assert not log.producers.active_producers, "no snapshot is above the log start"
