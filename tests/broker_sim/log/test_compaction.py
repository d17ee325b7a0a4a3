"""Compaction of one log against models: the last value of each key stays, offsets never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.compaction import clean, log_to_clean
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.log.retention import delete_old_segments
from protocol_specs.records.batch_peek import check_batch
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from tests.broker_sim.log.transactional_log import without_verification

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW_MS = 1_767_225_600_000
BROKER = BrokerConfig.parse(without_verification("3.7.2"), release="3.7.2")
DAY_MS = 86_400_000

Pair = tuple[bytes, bytes | None]


def log_with(segment_bytes: int = 1, **topic: str) -> ReplicaLog:
    """A compacted log; by default a segment holds one batch, however large."""
    overrides = {name.replace("_", "."): value for name, value in topic.items()}
    overrides = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"} | overrides
    overrides["segment.ms" if segment_bytes == 1 else "segment.bytes"] = str(segment_bytes)
    config = TopicConfig.resolve(overrides, BROKER)
    return ReplicaLog(topic="t", partition=0, config=config, broker_config=BROKER, now_ms=NOW_MS)


class Writer:
    """Appends to a log; every batch is of a later time than the one before."""

    def __init__(self, log: ReplicaLog) -> None:
        self.log = log
        self.time_ms = NOW_MS - DAY_MS

    def append(
        self,
        *pairs: Pair,
        codec: CompressionCodec = CompressionCodec.NONE,
        producer: tuple[int, int, int] = (-1, -1, -1),
        transactional: bool = False,
    ) -> None:
        self.time_ms += 10
        builder = RecordBatchBuilder(
            codec=codec,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=producer[2],
            is_transactional=transactional,
        )
        for key, value in pairs:
            builder.append(self.time_ms, key, value)
        self._append(builder.build(), AppendOrigin.CLIENT)

    def end_transaction(self, producer_id: int, kind: ControlRecordType) -> None:
        self.time_ms += 10
        marker = EndTransactionMarker(control_type=kind, coordinator_epoch=0)
        data = end_transaction_marker_batch(
            marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=self.time_ms
        )
        self._append(data, AppendOrigin.COORDINATOR)

    def _append(self, data: bytes, origin: AppendOrigin) -> None:
        self.log.append_as_leader(data, leader_epoch=0, now_ms=self.time_ms, origin=origin)
        self.log.update_high_watermark(self.log.log_end_offset)


def compact(log: ReplicaLog, now_ms: int = NOW_MS) -> bool:
    cleanable = log_to_clean(log, now_ms)
    if cleanable.due:
        clean(cleanable, now_ms)
    return cleanable.due


def records(log: ReplicaLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for batch in log.batches() for record in read_records(batch.data)]


def offsets(log: ReplicaLog) -> list[int]:
    return [offset for offset, _, _ in records(log)]


def test_a_tombstone_goes_in_the_first_round_after_its_horizon() -> None:
    log = log_with(delete_retention_ms="1000")
    writer = Writer(log)
    for pair in ((b"a", b"1"), (b"a", None), (b"b", b"x")):
        writer.append(pair)
    assert compact(log)
    assert offsets(log) == [1, 2]
    tombstone = check_batch(next(iter(log.batches())).data)
    assert tombstone.delete_horizon_ms == NOW_MS + 1000
    writer.append((b"b", b"y"))
    assert compact(log, NOW_MS + 999)
    assert offsets(log) == [1, 2, 3]
    writer.append((b"b", b"z"))
    assert compact(log, NOW_MS + 1000)
    assert offsets(log) == [3, 4]


def test_what_is_not_dirty_enough_waits() -> None:
    log = log_with(min_cleanable_dirty_ratio="0.5")
    writer = Writer(log)
    for key in (b"a", b"b", b"c", b"d"):
        writer.append((key, b"1"))
    assert compact(log)
    writer.append((b"a", b"2"))
    assert not compact(log), "one of four segments is dirty"
    writer.append((b"b", b"2"))
    writer.append((b"b", b"3"))
    writer.append((b"b", b"4"))
    assert compact(log)


def test_a_log_that_cannot_be_dirty_enough_is_compacted_for_its_age() -> None:
    log = log_with(min_cleanable_dirty_ratio="1", max_compaction_lag_ms=str(2 * DAY_MS))
    writer = Writer(log)
    for _ in range(3):
        writer.append((b"a", b"1"))
    assert not compact(log, NOW_MS + DAY_MS)
    assert compact(log, NOW_MS + DAY_MS + 60_000)
    assert offsets(log) == [1, 2]


def test_batches_that_lose_nothing_stay_the_same_objects() -> None:
    log = log_with()
    writer = Writer(log)
    for key in (b"a", b"b", b"c"):
        writer.append((key, b"1"))
    before = list(log.batches())
    assert compact(log)
    assert all(ours is theirs for ours, theirs in zip(log.batches(), before, strict=True))


def test_an_active_producers_last_batch_leaves_a_header_with_its_sequence() -> None:
    log = log_with()
    writer = Writer(log)
    writer.append((b"a", b"1"), producer=(9, 0, 0))
    writer.append((b"a", b"2"), producer=(9, 0, 1))
    writer.append((b"a", b"3"))
    writer.append((b"a", b"4"))
    assert compact(log)
    kept = next(iter(log.batches()))
    assert (kept.records_count, kept.base_offset, kept.last_sequence, kept.size) == (0, 1, 1, 61)
    assert offsets(log) == [2, 3]


def test_aborted_records_go_and_their_marker_after_its_horizon() -> None:
    log = log_with(delete_retention_ms="1000")
    writer = Writer(log)
    writer.append((b"a", b"1"))
    writer.append((b"a", b"aborted"), producer=(9, 0, 0), transactional=True)
    writer.end_transaction(9, ControlRecordType.ABORT)
    writer.append((b"b", b"1"), producer=(9, 0, 1), transactional=True)
    writer.end_transaction(9, ControlRecordType.COMMIT)
    writer.append((b"c", b"1"))
    assert compact(log)
    assert offsets(log) == [0, 2, 3, 4, 5], "the aborted record never replaces the committed one"
    writer.append((b"c", b"2"))
    assert compact(log, NOW_MS + 1)
    writer.append((b"c", b"3"))
    assert compact(log, NOW_MS + 1001)
    left = offsets(log)
    assert 2 not in left
    assert left[:3] == [0, 3, 4], "a marker stays as long as its records do"


def test_transactions_that_are_committed_lose_their_marker_with_their_last_record() -> None:
    log = log_with(delete_retention_ms="1000")
    writer = Writer(log)
    writer.append((b"a", b"1"), producer=(9, 0, 0), transactional=True)
    writer.end_transaction(9, ControlRecordType.COMMIT)
    for number in range(3):
        writer.append((b"a", b"later"), producer=(9, 0, 1 + number))
    for round_ms in (0, 1, 1001, 2002):
        compact(log, NOW_MS + round_ms)
        writer.append((b"a", b"active"))
    assert 1 not in offsets(log)


def test_followers_take_over_what_compaction_has_left() -> None:
    log = log_with()
    writer = Writer(log)
    for number in range(6):
        writer.append((b"a", b"%d" % number))
    assert compact(log)
    follower = log_with()
    while follower.log_end_offset < log.log_end_offset:
        follower.append_as_follower(log.read(follower.log_end_offset, max_bytes=1), now_ms=NOW_MS)
    assert records(follower) == records(log)


def test_truncation_below_the_clean_part_makes_it_dirty_again() -> None:
    log = log_with()
    writer = Writer(log)
    for number in range(6):
        writer.append((b"%d" % number, b"1"))
    assert compact(log)
    assert log.first_dirty_offset == 5
    log.truncate_to(3)
    assert log.first_dirty_offset == 3


class CompactionMachine(RuleBasedStateMachine):
    """The model: every record that was ever appended, by offset."""

    @initialize(segment_bytes=st.sampled_from([1, 200, 500]), retention_ms=st.sampled_from([0, 1000]))
    def start(self, segment_bytes: int, retention_ms: int) -> None:
        self.log = log_with(segment_bytes, delete_retention_ms=str(retention_ms))
        self.writer = Writer(self.log)
        self.model: list[Pair] = []
        self.now_ms = NOW_MS
        self.clean_up_to = 0

    @rule(
        pairs=st.lists(
            st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=9)),
            min_size=1,
            max_size=4,
        ),
        codec=st.sampled_from([CompressionCodec.NONE, CompressionCodec.GZIP]),
        idempotent=st.booleans(),
    )
    def append(self, pairs: Sequence[Pair], codec: CompressionCodec, idempotent: bool) -> None:
        producer = (len(self.model) % 3, 0, -1) if idempotent else (-1, -1, -1)
        if idempotent:
            entry = self.log.producers.active_producers.get(producer[0])
            producer = (producer[0], 0, 0 if entry is None else entry.last_sequence + 1)
        self.writer.append(*pairs, codec=codec, producer=producer)
        self.model += pairs

    @rule(passed_ms=st.sampled_from([1, 2000]))
    def compact(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        if compact(self.log, self.now_ms):
            assert self.log.first_dirty_offset is not None
            self.clean_up_to = self.log.first_dirty_offset

    @rule(share=st.floats(min_value=0, max_value=1))
    def delete_records(self, share: float) -> None:
        self.log.maybe_increment_log_start_offset(int(self.log.log_end_offset * share))
        delete_old_segments(self.log, self.now_ms)

    @invariant()
    def what_is_left_is_as_it_was_appended(self) -> None:
        left = records(self.log)
        assert [offset for offset, _, _ in left] == sorted({offset for offset, _, _ in left})
        for offset, key, value in left:
            assert (key, value) == self.model[offset]

    @invariant()
    def the_last_value_of_each_key_is_there(self) -> None:
        start = self.log.log_start_offset
        last = {key: offset for offset, (key, _) in enumerate(self.model)}
        left = dict.fromkeys(offsets(self.log))
        for offset in last.values():
            if offset >= start and self.model[offset][1] is not None:
                assert offset in left
        assert all(offset in left for offset in range(max(self.clean_up_to, start), len(self.model)))

    @invariant()
    def the_clean_part_holds_a_key_once(self) -> None:
        visible = range(self.log.log_start_offset, self.clean_up_to)
        clean_keys = [key for offset, key, _ in records(self.log) if offset in visible]
        assert len(clean_keys) == len({*clean_keys})

    @invariant()
    def readers_get_it_from_any_offset(self) -> None:
        everything = [offset for offset in offsets(self.log) if offset >= self.log.log_start_offset]
        offset, found = self.log.log_start_offset, []
        while batches := self.log.read(offset, max_bytes=100):
            found += [each.offset for batch in batches for each in read_records(batch.data) if each.offset >= offset]
            offset = batches[-1].next_offset
        assert found == everything
        assert self.log.log_end_offset == len(self.model)

    @invariant()
    def batches_are_sound_and_in_order(self) -> None:
        end = 0
        for batch in self.log.batches():
            header = check_batch(batch.data)
            assert (header.base_offset, header.last_offset) == (batch.base_offset, batch.last_offset)
            assert (header.max_timestamp, header.records_count) == (batch.max_timestamp, batch.records_count)
            assert len(batch.data) == batch.size
            assert batch.base_offset >= end
            end = batch.next_offset


CompactionMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestCompaction = CompactionMachine.TestCase


@given(st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=30))
def test_a_log_that_is_clean_is_left_alone(keys: list[bytes]) -> None:
    log = log_with()
    writer = Writer(log)
    for key in keys:
        writer.append((key, b"v"))
    compact(log)
    before = list(log.batches())
    assert not compact(log)
    assert list(log.batches()) == before


def test_the_index_of_aborted_transactions_loses_those_without_records() -> None:
    log = log_with()
    writer = Writer(log)
    writer.append((b"a", b"aborted"), producer=(9, 0, 0), transactional=True)
    writer.end_transaction(9, ControlRecordType.ABORT)
    writer.append((b"b", b"1"), producer=(9, 0, 1))
    assert compact(log)
    assert [tuple(entry) for entry in log.aborted_transactions(0, 9)] == [(9, 0, 1, 2)], (
        "consumers still read the marker"
    )
    writer.append((b"b", b"2"))
    writer.append((b"b", b"3"))
    assert compact(log, NOW_MS + 1)
    assert log.aborted_transactions(0, 9) == []


def test_a_transaction_that_was_aborted_before_the_dirty_section_hides_no_committed_record() -> None:
    log = log_with()
    writer = Writer(log)
    writer.append((b"a", b"aborted"), producer=(9, 0, 0), transactional=True)
    writer.end_transaction(9, ControlRecordType.ABORT)
    writer.append((b"b", b"1"))
    writer.append((b"c", b"1"))
    assert compact(log)
    writer.append((b"b", b"committed"), producer=(9, 0, 1), transactional=True)
    writer.end_transaction(9, ControlRecordType.COMMIT)
    writer.append((b"d", b"1"))
    assert compact(log, NOW_MS + 1)
    assert (2, b"b", b"1") not in records(log), "the committed record replaces it"
    assert (4, b"b", b"committed") in records(log)


def test_compaction_ends_at_an_open_transaction() -> None:
    log = log_with()
    writer = Writer(log)
    writer.append((b"a", b"1"))
    writer.append((b"a", b"2"))
    writer.append((b"a", b"open"), producer=(9, 0, 0), transactional=True)
    writer.append((b"a", b"3"))
    writer.append((b"a", b"4"))
    assert compact(log)
    assert offsets(log) == [1, 2, 3, 4]
    assert log.last_stable_offset == 2
    writer.end_transaction(9, ControlRecordType.ABORT)
    writer.append((b"b", b"1"))
    assert compact(log)
    assert (2, b"a", b"open") not in records(log)


@pytest.mark.parametrize(("release", "left"), [("3.9", []), ("4.0", [(0, 0)]), ("4.3", [(0, 0)])])
def test_since_4_0_the_last_batch_of_a_round_stays_without_its_records(
    release: str, left: list[tuple[int, int]]
) -> None:
    broker = BrokerConfig.parse(without_verification(release), release=release)
    config = TopicConfig.resolve({"cleanup.policy": "compact"}, broker)
    log = ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=NOW_MS)
    writer = Writer(log)
    writer.append((b"a", b"aborted"), producer=(9, 0, 0), transactional=True)
    log.roll(1, NOW_MS)
    writer.end_transaction(9, ControlRecordType.ABORT)
    log.producers.remove_expired(NOW_MS + 3 * DAY_MS)
    assert compact(log)
    assert [(batch.base_offset, batch.records_count) for batch in log.segments[0].batches] == left
