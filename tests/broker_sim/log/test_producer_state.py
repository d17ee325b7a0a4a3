"""How idempotent and transactional producers are known, by release."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import PartitionAppend, RecordsRefused
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.record_batch import RecordBatchBuilder
from tests.broker_sim.log.transactional_log import TransactionalLog

NOW_MS = 1_767_225_600_000
DAY_MS = 24 * 60 * 60 * 1000
SEQUENCE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


def log_of(release: str) -> ReplicaLog:
    broker = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve({}, broker)
    return ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=NOW_MS)


def append(log: ReplicaLog, sequence: int) -> PartitionAppend:
    builder = RecordBatchBuilder(producer_id=7, producer_epoch=0, base_sequence=sequence)
    builder.append(NOW_MS, b"k", b"v")
    return log.append_as_leader(builder.build(), leader_epoch=0, now_ms=NOW_MS)


@pytest.mark.parametrize(("release", "known"), [("0.11", [4]), ("1.0", [0, 1, 2, 3, 4]), ("4.3", [0, 1, 2, 3, 4])])
def test_a_log_knows_the_last_batch_and_since_1_0_the_last_five(release: str, known: list[int]) -> None:
    log = log_of(release)
    for sequence in range(5):
        append(log, sequence)
    for sequence in range(5):
        if sequence in known:
            assert append(log, sequence).duplicate
        else:
            with pytest.raises(RecordsRefused) as refused:
                append(log, sequence)
            assert refused.value.error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("release", ["0.11", "1.1", "2.4"])
def test_before_2_5_an_unknown_producer_begins_at_0(release: str) -> None:
    with pytest.raises(RecordsRefused) as refused:
        append(log_of(release), 3)
    error = BrokerConfig.parse({}, release=release).behaviour.known(refused.value.error_code)
    expected = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if release == "0.11" else ErrorCode.UNKNOWN_PRODUCER_ID
    assert error is expected
    assert not append(log_of(release), 0).duplicate


@pytest.mark.parametrize("release", ["2.5", "4.3"])
def test_since_2_5_an_unknown_producer_begins_anywhere(release: str) -> None:
    assert append(log_of(release), 3).base_offset == 0


@pytest.mark.parametrize("release", ["0.11", "2.4", "3.7", "4.3"])
def test_a_plain_batch_within_a_transaction_is_refused(release: str) -> None:
    log = TransactionalLog(release=release)
    log.append(0)
    assert log.refusal(1, transactional=False) is ErrorCode.INVALID_TXN_STATE
    log.append(1)
    log.end()
    log.append(2, transactional=False)
    assert log.open_since == -1


def test_a_marker_ends_the_transaction_and_keeps_the_sequences_of_its_epoch() -> None:
    log = TransactionalLog()
    log.append(0, count=3)
    log.append(3)
    assert log.open_since == 0
    log.end(coordinator_epoch=5)
    entry = log.log.producers.active_producers[7]
    assert (entry.transaction_start, entry.coordinator_epoch, entry.last_sequence) == (-1, 5, 3)
    assert log.append(0, count=3).duplicate, "a late retry of the transaction that has ended"
    assert log.refusal(5) is SEQUENCE
    log.append(4)
    assert log.open_since == 5


def test_a_marker_with_a_new_epoch_clears_the_batches() -> None:
    log = TransactionalLog()
    log.append(0, count=2)
    log.end(epoch=1)
    assert log.refusal(0, epoch=0, count=2) is OLD_EPOCH
    assert log.refusal(2, epoch=1) is SEQUENCE
    log.append(0, epoch=1)
    assert log.open_since == 3


def test_a_new_epoch_starts_at_sequence_0_also_within_a_transaction() -> None:
    log = TransactionalLog()
    log.append(0, epoch=1)
    assert log.refusal(1, epoch=2) is SEQUENCE
    log.append(0, epoch=2)
    assert log.open_since == 0


def test_the_marker_of_an_unknown_producer_makes_an_entry() -> None:
    log = TransactionalLog()
    log.end(epoch=4, coordinator_epoch=2)
    assert log.refusal(0, epoch=3) is OLD_EPOCH
    log.append(0, epoch=4)


@pytest.mark.parametrize(
    ("release", "error"),
    [
        ("1.1", SEQUENCE),
        ("2.0", ErrorCode.UNKNOWN_PRODUCER_ID),
        ("2.4", ErrorCode.UNKNOWN_PRODUCER_ID),
        ("2.5", SEQUENCE),
        ("4.3", SEQUENCE),
    ],
)
def test_a_producer_known_by_a_marker_alone_starts_at_sequence_0(release: str, error: ErrorCode) -> None:
    log = TransactionalLog(release=release)
    log.end()
    assert log.refusal(3) is error
    log.append(0)


def test_in_0_11_a_marker_takes_the_place_of_the_last_batch() -> None:
    log = TransactionalLog(release="0.11")
    log.append(0, count=2)
    log.end()
    assert log.refusal(0, count=2) is SEQUENCE
    assert log.append(1).base_offset == 2, "a retry of the last sequence has the offset of the marker"


def test_markers_of_old_producers_and_old_coordinators_are_refused() -> None:
    log = TransactionalLog()
    log.append(0, epoch=3)
    log.end(epoch=3, coordinator_epoch=5)
    assert log.marker_refusal(epoch=2, coordinator_epoch=6) is OLD_EPOCH
    assert log.marker_refusal(epoch=3, coordinator_epoch=4) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    log.end(epoch=3, coordinator_epoch=5)
    log.end(epoch=4, coordinator_epoch=6)


@pytest.mark.parametrize("release", ["4.2", "4.3"])
def test_since_4_2_a_marker_of_version_2_has_a_newer_epoch(release: str) -> None:
    log = TransactionalLog(release=release)
    log.append(0, epoch=3)
    assert log.marker_refusal(epoch=3, transaction_version=2) is OLD_EPOCH
    log.end(epoch=4, transaction_version=2)
    assert log.marker_refusal(epoch=3, transaction_version=2) is OLD_EPOCH
    log.end(epoch=4, transaction_version=2)  # a retry: nothing is open
    log.append(0, epoch=32767)
    log.end(epoch=32767, transaction_version=2)
    assert log.open_since == -1


@pytest.mark.parametrize(("release", "version"), [("4.1", 2), ("4.3", 1)])
def test_other_markers_may_have_the_epoch_of_the_transaction(release: str, version: int) -> None:
    log = TransactionalLog(release=release)
    log.append(0, epoch=3)
    log.end(epoch=3, transaction_version=version)
    assert log.open_since == -1


def test_an_open_transaction_keeps_its_producer() -> None:
    log = TransactionalLog()
    log.append(0)
    log.append(0, producer=8)
    log.end(producer=8)
    log.log.producers.remove_expired(NOW_MS + 3 * DAY_MS)
    assert list(log.log.producers.active_producers) == [7]


def test_a_restart_knows_the_newest_batch_of_producers_that_are_not_idle() -> None:
    log = log_of("4.3")
    for sequence in range(3):
        append(log, sequence)
    log.producers.restart(NOW_MS + 1_000)
    assert append(log, 2).duplicate
    with pytest.raises(RecordsRefused):
        append(log, 1)
    log.producers.restart(NOW_MS + 2 * DAY_MS)
    assert not log.producers.active_producers
    assert not append(log, 9).duplicate


def test_a_restart_keeps_the_idle_producer_of_an_open_transaction() -> None:
    log = TransactionalLog()
    log.append(0)
    log.log.producers.restart(NOW_MS + 3 * DAY_MS)
    assert list(log.log.producers.active_producers) == [7]
    assert log.log.last_stable_offset == 0


@pytest.mark.parametrize(("release", "forgotten"), [("0.11", True), ("2.3", True), ("2.4", False), ("4.3", False)])
def test_before_2_4_a_producer_goes_with_its_records(release: str, forgotten: bool) -> None:
    log = TransactionalLog(release=release)
    log.append(0)
    log.append(0, producer=8, transactional=False)
    log.log.maybe_increment_log_start_offset(1)
    assert (7 not in log.log.producers.active_producers) is forgotten
    assert 8 in log.log.producers.active_producers
    assert log.log.last_stable_offset == (2 if forgotten else 1)
    if forgotten:
        assert log.refusal(1) is ErrorCode.UNKNOWN_PRODUCER_ID
        log.append(0)
    else:
        log.append(1)
