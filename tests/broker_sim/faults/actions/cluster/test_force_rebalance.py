from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.sync_group import SyncGroupRequest
from tests.broker_sim.apis.conftest import ApiBench

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bench() -> Iterator[Any]:
    api = ApiBench(
        brokers=1,
        topics=[TopicSpec(name="__consumer_offsets"), TopicSpec(name="a", partitions=3)],
        config={"group.initial.rebalance.delay.ms": "0"},
        release="4.3.1",
        seed=1,
    )
    api.settle()
    yield api
    api.cluster.close()


def force(bench: Any) -> Any:
    faults = bench.cluster.faults
    faults.add(parse_rule({"name": faults.free_name(), "act": {"force_rebalance": "g"}}))
    bench.reactor.run_for(ms=100)
    return faults.reports()[-1]


def test_the_members_of_a_classic_group_join_again(bench: Any) -> None:
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    member = bench.exchange(join, 3).member_id
    bench.exchange(SyncGroupRequest(group_id="g", generation_id=1, member_id=member), 2)
    assert force(bench).problem is None
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member)
    assert bench.exchange(heartbeat, 2).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert "group g cannot rebalance now: its state is PreparingRebalance" in force(bench).problem
    join.member_id = member
    assert bench.exchange(join, 3).generation_id == 2


def test_a_consumer_group_gets_its_next_epoch(bench: Any) -> None:
    join = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["a"],
        topic_partitions=[],
    )
    before = bench.exchange(join, 1).member_epoch
    assert force(bench).problem is None
    bench.reactor.run_for(ms=5_000)  # the interval between two assignments is over
    heartbeat = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=before)
    assert bench.exchange(heartbeat, 1).member_epoch == before + 1


def test_a_group_that_does_not_exist_is_the_problem_of_the_rule(bench: Any) -> None:
    assert "g" in force(bench).problem
