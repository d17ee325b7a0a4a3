from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages import read_share_group_state as read

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def request(*partitions: int, group_id: str = "g") -> read.ReadShareGroupStateRequest:
    data = [read.PartitionData(partition=each, leader_epoch=-1) for each in partitions]
    return read.ReadShareGroupStateRequest(
        group_id=group_id, topics=[read.ReadStateData(topic_id=bytes(16), partitions=data)]
    )


def test_a_broker_that_has_no_shard_is_not_the_coordinator(bench: Callable[..., ApiBench]) -> None:
    [topic] = bench(topics=[TopicSpec(name="orders")]).exchange(request(3, 0, 3), 0).results
    text = "Unable to read share group state: This is not the correct coordinator."
    assert [(each.partition, each.error_code, each.error_message) for each in topic.partitions] == [
        (0, 16, text),
        (3, 16, text),
    ]


@pytest.mark.parametrize(
    "empty", [request(), request(0, group_id=""), read.ReadShareGroupStateRequest(group_id="g", topics=[])]
)
def test_a_request_without_a_group_or_partitions_has_an_empty_response(
    bench: Callable[..., ApiBench], empty: read.ReadShareGroupStateRequest
) -> None:
    assert bench().exchange(empty, 0).results == []
