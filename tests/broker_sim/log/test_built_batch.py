"""Batches whose bytes are made when they are read equal those whose bytes are made at once."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.built_batch import BuiltBatch
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.lone_batch import lone_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from protocol_specs.records.lone_batch import RecordSet

NOW_MS = 1_767_225_600_000
CONFIG = BrokerConfig.parse({}, release="4.3.1")
RECORDS = [lone_batch(NOW_MS + number, b"key", b"v" * number, base_sequence=0) for number in range(5)]


def appended(records: Sequence[RecordSet]) -> list[StoredBatch]:
    log = ReplicaLog(
        topic="orders",
        partition=0,
        config=TopicConfig.resolve({}, CONFIG),
        broker_config=CONFIG,
        now_ms=NOW_MS,
    )
    for each in records:
        log.append_as_leader(each, 3, NOW_MS, AppendOrigin.COORDINATOR)
    return list(log.batches())


def test_a_log_has_the_batches_that_it_makes_of_the_bytes() -> None:
    built, copied = appended(RECORDS), appended([bytes(each) for each in RECORDS])
    assert {type(batch) for batch in built} == {BuiltBatch}
    assert not any(isinstance(batch, BuiltBatch) for batch in copied)
    assert [astuple(batch) for batch in built] == [astuple(batch) for batch in copied]


def test_the_bytes_are_made_once_and_then_kept_alone() -> None:
    [batch] = appended(RECORDS[:1])
    assert isinstance(batch, BuiltBatch)
    assert batch.bytes_or_parts is RECORDS[0]
    assert batch.data is batch.data
    assert batch.bytes_or_parts is batch.data
    assert len(batch.data) == batch.size


def test_a_fragment_has_the_first_bytes() -> None:
    [batch] = appended(RECORDS[:1])
    assert batch.fragment(30).data == batch.data[:30]


def test_one_record_set_has_a_place_in_each_log() -> None:
    first, second = appended([RECORDS[4]])[0], appended([RECORDS[0], RECORDS[4]])[1]
    assert (first.data[8:], first.data[:8]) == (second.data[8:], (0).to_bytes(8))
    assert second.data[:8] == (1).to_bytes(8)
