from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.actions.requests.bit_flip import BitFlip
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import encode_request
from protocol_specs.fuzzing import mutate_frame
from protocol_specs.message import Kind
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Callable


def produced(made: Any, act: dict[str, Any]) -> tuple[ErrorCode, Any]:
    """Return the error of a Produce of one batch, and the report of the rule."""
    faults = made.cluster.faults
    faults.add(parse_rule({"name": "flip", "select": {"api": "Produce"}, "act": {"bit_flip": act}}))
    data = PartitionProduceData(index=0, records=made.batch(1, 2, 3))
    request = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    response = made.world.run_until(PlainCalls(made.cluster.broker(1)).call(request, 9))
    return ErrorCode(response.responses[0].partition_responses[0].error_code), faults.reports()[-1]


@pytest.mark.parametrize("act", [{}, {"byte": 0}, {"byte": 60, "bit": 1}])
def test_a_batch_that_changes_where_the_checksum_covers_it_is_refused(
    replicas: Callable[..., Any], act: dict[str, int]
) -> None:
    made = replicas()
    error, report = produced(made, act)
    assert (error, report.fired, report.problem) == (ErrorCode.CORRUPT_MESSAGE, 1, None)
    assert made.values(1) == []
    assert ("act.byte@1" in report.decisions) is ("byte" not in act)


def test_a_leader_epoch_that_changes_is_overwritten(replicas: Callable[..., Any]) -> None:
    made = replicas()
    error, _ = produced(made, {"part": "header", "byte": 15, "bit": 0})
    assert error is ErrorCode.NONE
    assert made.values(1) == [1, 2, 3]


def test_a_byte_beyond_the_records_changes_nothing(replicas: Callable[..., Any]) -> None:
    made = replicas()
    error, report = produced(made, {"byte": 10_000})
    assert (error, report.fired) == (ErrorCode.NONE, 0)
    assert "the part has" in report.problem


@pytest.mark.parametrize(("part", "first"), [("header", 0), ("checksum", 17)])
@pytest.mark.parametrize("version", [3, 9, 12])
def test_a_frame_changes_in_one_bit(replicas: Callable[..., Any], part: str, first: int, version: int) -> None:
    records = replicas().batch(1, 2, 3)
    data = PartitionProduceData(index=0, records=records)
    request = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    frame = encode_request(request, version, correlation_id=7, client_id="c")
    point = FaultPoint(broker_id=1, api_key=ApiKey.PRODUCE, request=request)
    firing: Any = SimpleNamespace(point=point, whole=lambda _, value: value, report_problem=None)
    [edit] = BitFlip(part=part, byte=5, bit=2).fire(firing).edits
    changed = mutate_frame(frame, ApiKey.PRODUCE, Kind.REQUEST, version, edit.mutations)
    differences = [
        (place, old ^ new) for place, (old, new) in enumerate(zip(frame, changed, strict=True)) if old != new
    ]
    assert differences == [(frame.index(records) + first + 5, 1 << 2)]
