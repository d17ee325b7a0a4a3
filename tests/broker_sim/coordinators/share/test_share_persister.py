from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import read_share_group_state as read

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.share.conftest import ShareBench


def reads(share: ShareBench, *partitions: int) -> list[Any]:
    persister = share.cluster.brokers[1].share_partitions.persister
    results: list[Any] = []
    for partition in partitions:
        key = SharePartitionKey("g", share.topic_id, partition)
        persister.read(key, read.PartitionData(partition=partition, leader_epoch=-1)).addCallback(results.append)
    return results


def test_operations_are_merged_and_each_has_its_own_result(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, 2, start=7)
    calls = share.cluster.links._next_id
    results = reads(share, 0, 1, 2)
    share.settle()
    assert share.cluster.links._next_id == calls + 1
    assert [(each.partition, each.error_code, each.start_offset) for each in results] == [
        (0, 0, 7),
        (1, ErrorCode.INVALID_REQUEST, 0),
        (2, 0, 7),
    ]


def test_a_coordinator_that_is_loading_is_tried_again(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, start=7)
    share.reactor.run_until(share.cluster.restart(1), deadline_ms=60_000)
    runtime = share.cluster.brokers[1].coordinators.share.runtime
    runtime.resigned(0)
    results = reads(share, 0)
    share.settle(1900)
    assert results == []
    runtime.elected(0, 100)
    share.settle(200)
    assert [(each.error_code, each.start_offset) for each in results] == [(0, 7)]


def test_a_coordinator_that_is_never_there_is_an_error(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.cluster.brokers[1].coordinators.share.runtime.resigned(0)
    results = reads(share, 0)
    share.settle(29_900)
    assert results == []
    share.settle(200)
    text = "Error in read state RPC. Exhausted max retries to complete read state RPC without success."
    assert [(each.error_code, each.error_message) for each in results] == [(ErrorCode.NOT_COORDINATOR, text)]
