from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.faults.grammar import parse_rule
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=3)
PHASES = ["before_append", "after_append", "after_replication"]


class Asked:
    """One Produce to both partitions under one rule."""

    def __init__(self, api: Any, phase: str, act: Any, partition: int = 0) -> None:
        self.api = api
        self.faults = api.cluster.faults
        select = {"api": "Produce", "topic": "orders", "partition": partition}
        self.faults.add(parse_rule({"name": "rule", "select": select, "phase": phase, "act": act}))
        builder = RecordBatchBuilder()
        builder.append(1_767_225_600_000, b"k", b"v")
        partitions = [PartitionProduceData(index=index, records=builder.build()) for index in range(2)]
        topics = [TopicProduceData(name="orders", partition_data=partitions)]
        self.request = ProduceRequest(acks=-1, timeout_ms=1500, topic_data=topics)
        calls = PlainCalls(api.cluster.brokers[1])
        self.context = calls.context(self.request, 9)
        self.answer: Any = self.context.origin
        calls.accept(self.context)

    @property
    def ends(self) -> list[int]:
        return [self.api.cluster.log_of(1, "orders", partition).log_end_offset for partition in range(2)]

    def result(self) -> Any:
        return self.api.reactor.run_until(self.answer, deadline_ms=5000)

    def errors(self) -> dict[int, int]:
        [topic] = self.result().responses
        return {partition.index: partition.error_code for partition in topic.partition_responses}


@pytest.fixture
def ask(bench: Callable[..., Any]) -> Callable[..., Asked]:
    return lambda *arguments, **options: Asked(bench(topics=[TOPIC]), *arguments, **options)


@pytest.mark.parametrize("phase", PHASES)
def test_an_error_is_answered_for_the_partition_that_is_struck(ask: Callable[..., Asked], phase: str) -> None:
    asked = ask(phase, {"error": "NOT_LEADER_OR_FOLLOWER"})
    assert asked.errors() == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER, 1: 0}
    assert asked.ends == ([0, 1] if phase == "before_append" else [1, 1])


@pytest.mark.parametrize("phase", PHASES)
def test_a_disconnect_answers_nothing_and_what_was_appended_stays(ask: Callable[..., Asked], phase: str) -> None:
    asked = ask(phase, "disconnect", partition=1)
    assert asked.result() is NoResponse.CLOSE_CONNECTION
    assert asked.ends == ([0, 0] if phase == "before_append" else [1, 1])


@pytest.mark.parametrize("phase", PHASES)
def test_a_dropped_response_is_appended_all_the_same(ask: Callable[..., Asked], phase: str) -> None:
    asked = ask(phase, "drop_response")
    assert asked.result() is NoResponse.LOST
    assert asked.ends == [1, 1]


@pytest.mark.parametrize("phase", PHASES)
def test_a_hold_waits_until_it_is_released(ask: Callable[..., Asked], phase: str) -> None:
    asked = ask(phase, "hold")
    asked.api.reactor.run_for(ms=1000)
    assert not asked.answer.called
    assert asked.ends == ([0, 0] if phase == "before_append" else [1, 1])
    assert asked.context.handler_held is (phase != "after_replication")
    asked.faults.release("rule")
    assert asked.errors() == {0: 0, 1: 0}
    assert not asked.context.handler_held


def test_a_rule_for_another_partition_changes_nothing(ask: Callable[..., Asked]) -> None:
    asked = ask("before_append", "disconnect", partition=2)
    assert asked.errors() == {0: 0, 1: 0}
