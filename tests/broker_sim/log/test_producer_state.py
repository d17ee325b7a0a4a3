"""How idempotent producers were known in older releases."""

from __future__ import annotations

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import PartitionAppend, RecordsRefused
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.record_batch import RecordBatchBuilder

NOW_MS = 1_767_225_600_000


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
