from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.replica_log import OffsetOutOfRange, RecordsRefused, ReplicaLog, UnexpectedAppendOffset
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.record_batch import RecordBatchBuilder, peek_header, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.log.replica_log import PartitionAppend

NOW_MS = 1_767_225_600_000
DAY_MS = 86_400_000


def log_with(broker: Mapping[str, str] | None = None, **topic: str) -> ReplicaLog:
    broker_config = BrokerConfig.parse(broker or {})
    overrides = {name.replace("_", "."): value for name, value in topic.items()}
    config = TopicConfig.resolve(overrides, broker_config)
    return ReplicaLog(topic="orders", partition=0, config=config, broker_config=broker_config, now_ms=NOW_MS)


def batch(
    count: int = 1,
    *,
    timestamps: Sequence[int] | None = None,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    size: int = 10,
) -> bytes:
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    for index in range(count):
        builder.append(NOW_MS if timestamps is None else timestamps[index], None, bytes(size))
    return builder.build()


def append(log: ReplicaLog, records: bytes, *, epoch: int = 0, now_ms: int = NOW_MS) -> PartitionAppend:
    return log.append_as_leader(records, leader_epoch=epoch, now_ms=now_ms)


def idempotent(
    log: ReplicaLog, sequence: int, *, count: int = 1, epoch: int = 0, producer_id: int = 7
) -> PartitionAppend:
    records = batch(count, producer_id=producer_id, epoch=epoch, sequence=sequence)
    return append(log, records)


def refused(log: ReplicaLog, records: bytes) -> ErrorCode:
    with pytest.raises(RecordsRefused) as caught:
        append(log, records)
    return caught.value.error_code


def test_batches_get_consecutive_offsets_and_the_leader_epoch() -> None:
    log = log_with()
    assert append(log, batch(3)).base_offset == 0
    info = append(log, batch(2), epoch=4)
    assert (info.base_offset, info.last_offset, log.log_end_offset) == (3, 4, 5)
    stored = info.batches[0]
    header = peek_header(stored.data)
    assert (header.base_offset, header.partition_leader_epoch) == (3, 4) == (stored.base_offset, stored.leader_epoch)
    assert [record.offset for record in read_records(stored.data)] == [3, 4]
    assert log.epochs.entries == ((0, 0), (4, 3))


def test_stored_bytes_differ_from_the_sent_ones_in_offset_and_epoch_alone() -> None:
    sent = batch(3)
    log = log_with()
    append(log, batch(1))
    data = append(log, sent, epoch=2).batches[0].data
    assert data[8:12] == sent[8:12]
    assert data[16:] == sent[16:]


def test_log_append_time_is_written_and_returned() -> None:
    log = log_with(message_timestamp_type="LogAppendTime")
    info = append(log, batch(2, timestamps=[5, 6]), now_ms=NOW_MS + 3)
    assert info.log_append_time_ms == NOW_MS + 3
    assert [record.timestamp for record in read_records(info.batches[0].data)] == [NOW_MS + 3] * 2


def test_followers_hold_the_leaders_own_objects() -> None:
    leader, follower = log_with(), log_with()
    for index in range(3):
        append(leader, batch(2), epoch=index)
    follower.append_as_follower(leader.read(0, max_bytes=10_000), now_ms=NOW_MS)
    assert follower.log_end_offset == 6
    assert follower.epochs.entries == leader.epochs.entries
    assert all(mine is theirs for mine, theirs in zip(follower.batches(), leader.batches(), strict=True))


def test_follower_refuses_batches_below_its_end() -> None:
    leader, follower = log_with(), log_with()
    append(leader, batch(2))
    batches = leader.read(0, max_bytes=10_000)
    follower.append_as_follower(batches, now_ms=NOW_MS)
    with pytest.raises(UnexpectedAppendOffset, match="batch at offset 0 is below the log end offset 2"):
        follower.append_as_follower(batches, now_ms=NOW_MS)


# Reading


def test_read_returns_whole_batches_from_the_one_with_the_offset() -> None:
    log = log_with()
    for _ in range(4):
        append(log, batch(3))
    size = len(batch(3))
    assert [found.base_offset for found in log.read(4, max_bytes=10 * size)] == [3, 6, 9]
    assert [found.base_offset for found in log.read(4, max_bytes=2 * size)] == [3, 6]
    assert [found.base_offset for found in log.read(4, max_bytes=2 * size - 1)] == [3]


def test_first_batch_comes_even_when_it_is_too_large_unless_the_limit_is_strict() -> None:
    log = log_with()
    append(log, batch(3))
    assert len(log.read(0, max_bytes=1)) == 1
    assert log.read(0, max_bytes=1, at_least_one=False) == []


def test_fragment_of_the_next_batch_fills_the_room_of_a_consumer() -> None:
    log = log_with()
    for _ in range(3):
        append(log, batch(3))
    size = len(batch(3))
    whole, fragment = log.read(0, max_bytes=size + 5, fragment=True)
    assert whole is log.batch_at(0)
    second = log.batch_at(3)
    assert second is not None
    assert (bytes(fragment.data), fragment.size) == (second.data[:5], 5)
    assert len(log.read(0, max_bytes=size, fragment=True)) == 1
    assert len(log.read(0, max_bytes=1, fragment=True)) == 1


def test_read_stops_at_the_bound_of_the_reader() -> None:
    log = log_with()
    for _ in range(3):
        append(log, batch(2))
    assert [found.base_offset for found in log.read(0, max_bytes=10_000, up_to=4)] == [0, 2]
    assert log.read(4, max_bytes=10_000, up_to=4) == []


def test_read_at_the_end_is_empty_and_beyond_it_is_out_of_range() -> None:
    log = log_with()
    append(log, batch(2))
    assert log.read(2, max_bytes=100) == []
    for offset in (-1, 3):
        with pytest.raises(OffsetOutOfRange, match=rf"offset {offset} is not in the log \[0, 2\]"):
            log.read(offset, max_bytes=100)


def test_read_never_crosses_a_segment() -> None:
    log = log_with(segment_bytes="1048576")
    for _ in range(3):
        append(log, batch(1, size=600_000))
    assert log.segment_base_offsets == [0, 1, 2]
    assert [found.base_offset for found in log.read(0, max_bytes=10**7)] == [0]
    assert [found.base_offset for found in log.read(1, max_bytes=10**7)] == [1]


def test_segment_rolls_by_record_time() -> None:
    log = log_with()
    append(log, batch(1, timestamps=[NOW_MS - 8 * DAY_MS]))
    append(log, batch(1))
    append(log, batch(1))
    assert log.segment_base_offsets == [0, 1]


def test_segment_rolls_by_the_clock_when_records_have_no_time() -> None:
    log = log_with()
    append(log, batch(1, timestamps=[-1]))
    append(log, batch(1, timestamps=[-1]), now_ms=NOW_MS + 8 * DAY_MS)
    assert log.segment_base_offsets == [0, 1]


def test_batch_at_finds_the_batch_of_an_offset() -> None:
    log = log_with()
    append(log, batch(3))
    append(log, batch(3))
    found = log.batch_at(4)
    assert found is not None
    assert found.base_offset == 3
    assert log.batch_at(6) is None


# Idempotence


def test_retry_of_one_of_five_batches_returns_its_offset() -> None:
    log = log_with()
    for sequence in range(6):
        idempotent(log, sequence)
    for sequence in range(1, 6):
        info = idempotent(log, sequence)
        assert (info.duplicate, info.base_offset, info.log_append_time_ms) == (True, sequence, NOW_MS)
        assert not info.batches
    assert refused(log, batch(producer_id=7, epoch=0, sequence=0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 6


def test_gap_and_other_cut_of_known_sequences_are_out_of_order() -> None:
    log = log_with()
    idempotent(log, 0, count=3)
    for sequence, count in ((4, 1), (0, 2), (1, 2)):
        records = batch(count, producer_id=7, epoch=0, sequence=sequence)
        assert refused(log, records) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_unknown_producer_may_start_anywhere() -> None:
    assert idempotent(log_with(), 1000).base_offset == 0


def test_producer_epoch_below_none_is_fenced_and_none_takes_any_sequence() -> None:
    log = log_with()
    assert refused(log, batch(producer_id=7, epoch=-2, sequence=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    for offset, sequence in enumerate((5, 90, 3)):
        assert idempotent(log, sequence, epoch=-1).base_offset == offset


def test_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    log = log_with()
    idempotent(log, 5, epoch=3)
    assert refused(log, batch(producer_id=7, epoch=4, sequence=6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    idempotent(log, 0, epoch=4)
    assert refused(log, batch(producer_id=7, epoch=3, sequence=5)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wrap_after_two_to_the_31_minus_1() -> None:
    log = log_with()
    last = 2**31 - 1
    idempotent(log, last - 1)
    info = idempotent(log, last, count=3)
    assert idempotent(log, last, count=3).base_offset == info.base_offset
    assert idempotent(log, 2).base_offset == info.last_offset + 1


def test_refused_batch_leaves_the_producer_as_it_was() -> None:
    log = log_with()
    idempotent(log, 0)
    future = batch(producer_id=7, epoch=0, sequence=1, timestamps=[NOW_MS + DAY_MS])
    assert refused(log, future) is ErrorCode.INVALID_TIMESTAMP
    assert idempotent(log, 1).base_offset == 1


def test_idle_producer_is_forgotten_at_the_next_check() -> None:
    log = log_with()
    idempotent(log, 5)
    records = batch(producer_id=7, epoch=0, sequence=90)
    assert refused(log, records) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    later_ms = NOW_MS + DAY_MS + 600_000
    assert append(log, records, now_ms=later_ms).base_offset == 1


def test_followers_remember_producers_too() -> None:
    leader, follower = log_with(), log_with()
    for sequence in range(3):
        idempotent(leader, sequence)
    follower.append_as_follower(leader.read(0, max_bytes=10_000), now_ms=NOW_MS)
    assert idempotent(follower, 1).duplicate
    assert idempotent(follower, 3).base_offset == 3


# Truncation


def test_truncation_cuts_records_epochs_producers_and_high_watermark() -> None:
    log = log_with()
    idempotent(log, 0, count=2)
    append(log, batch(2), epoch=1)
    append(log, batch(2, producer_id=7, epoch=0, sequence=2), epoch=1)
    log.update_high_watermark(6)
    info = log.truncate_to(2)
    assert (info.old_log_end_offset, info.new_log_end_offset, len(info.removed)) == (6, 2, 2)
    assert log.log_end_offset == log.high_watermark == 2
    assert log.epochs.entries == ((0, 0),)
    assert idempotent(log, 2, count=2).base_offset == 2


def test_truncation_at_the_end_cuts_nothing() -> None:
    log = log_with()
    append(log, batch(2))
    assert not log.truncate_to(2).truncated
    assert log.log_end_offset == 2


def test_truncation_inside_of_a_batch_removes_the_batch() -> None:
    log = log_with()
    append(log, batch(3))
    info = log.truncate_to(1)
    assert [found.base_offset for found in info.removed] == [0]
    assert log.log_end_offset == 1
    assert list(log.batches()) == []


def test_truncation_over_segments_keeps_what_is_before() -> None:
    log = log_with(segment_bytes="1048576")
    for _ in range(3):
        append(log, batch(1, size=600_000))
    info = log.truncate_to(1)
    assert [found.base_offset for found in info.removed] == [1, 2]
    assert [found.base_offset for found in log.batches()] == [0]


def test_full_truncation_starts_at_the_given_offset() -> None:
    log = log_with()
    append(log, batch(3))
    log.truncate_fully_and_start_at(40)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (40, 40, 40)
    assert append(log, batch(1)).base_offset == 40


def test_log_start_offset_moves_up_to_the_high_watermark() -> None:
    log = log_with()
    append(log, batch(4))
    log.update_high_watermark(4)
    assert log.maybe_increment_log_start_offset(2)
    assert not log.maybe_increment_log_start_offset(2)
    assert log.earliest_offset() == (-1, 2, 0)
    with pytest.raises(OffsetOutOfRange):
        log.maybe_increment_log_start_offset(5)


# Offsets by time


def test_offset_for_a_timestamp_is_the_first_record_not_older() -> None:
    log = log_with()
    append(log, batch(3, timestamps=[100, 300, 200]))
    append(log, batch(2, timestamps=[150, 400]), epoch=2)
    assert log.offset_for_timestamp(150) == (300, 1, 0)
    assert log.offset_for_timestamp(301) == (400, 4, 2)
    assert log.offset_for_timestamp(401) is None


def test_max_timestamp_is_the_first_record_that_has_it() -> None:
    log = log_with()
    assert log.max_timestamp_offset() is None
    append(log, batch(3, timestamps=[100, 300, 300]))
    append(log, batch(2, timestamps=[300, 5]))
    assert log.max_timestamp_offset() == (300, 1, 0)


def test_max_timestamp_of_3_7_is_the_last_record_of_the_batch() -> None:
    broker_config = BrokerConfig.parse({}, release="3.7.2")
    config = TopicConfig.resolve({}, broker_config)
    log = ReplicaLog(topic="orders", partition=0, config=config, broker_config=broker_config, now_ms=NOW_MS)
    append(log, batch(3, timestamps=[100, 300, 200]))
    assert log.max_timestamp_offset() == (300, 2, 0)


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_without_any_timestamp_the_first_record_has_the_largest(release: str) -> None:
    broker_config = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve({}, broker_config)
    log = ReplicaLog(topic="orders", partition=0, config=config, broker_config=broker_config, now_ms=NOW_MS)
    append(log, batch(2, timestamps=[-1, -1]))
    append(log, batch(2, timestamps=[-1, -1]))
    assert log.max_timestamp_offset() == (-1, 0, 0)


def test_max_timestamp_of_a_log_append_time_topic_is_the_batchs_first_record() -> None:
    log = log_with(message_timestamp_type="LogAppendTime")
    append(log, batch(2))
    append(log, batch(3), now_ms=NOW_MS + 1)
    assert log.max_timestamp_offset() == (NOW_MS + 1, 2, 0)


def test_earliest_and_latest_carry_their_epochs() -> None:
    log = log_with()
    assert log.earliest_offset() == log.latest_offset() == (-1, 0, -1)
    append(log, batch(2), epoch=3)
    append(log, batch(2), epoch=5)
    assert log.earliest_offset() == (-1, 0, 3)
    assert log.latest_offset() == (-1, 4, 5)
