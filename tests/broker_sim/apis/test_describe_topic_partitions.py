"""DescribeTopicPartitions: pages, limits, and what the ELR shows when replicas fall away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SESSION_MS = 9_500


def describe(api: ApiBench, *names: str, limit: int = 2_000, cursor: Cursor | None = None, broker: int = 1) -> Any:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit, cursor=cursor
    )
    return api.exchange(request, 0, broker_id=broker)


def test_pages_hold_every_partition_once(bench: Callable[..., ApiBench]) -> None:
    api = bench(topics=[TopicSpec(name=name, partitions=5) for name in "cab"])
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(20):
        page = describe(api, limit=2, cursor=cursor)
        seen += [(topic.name, each.partition_index) for topic in page.topics for each in topic.partitions]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [(name, index) for name in "abc" for index in range(5)]


def test_the_broker_has_a_limit_of_its_own(bench: Callable[..., ApiBench]) -> None:
    config = {"max.request.partition.size.limit": "3"}
    api = bench(topics=[TopicSpec(name="t", partitions=5)], config=config)
    page = describe(api, "t")
    assert len(page.topics[0].partitions) == 3
    assert (page.next_cursor.topic_name, page.next_cursor.partition_index) == ("t", 3)


def test_replicas_that_fall_out_of_a_small_isr_stay_eligible(bench: Callable[..., ApiBench]) -> None:
    topic = TopicSpec(name="t", partitions=1, replication_factor=3, configs={"min.insync.replicas": "2"})
    api = bench(brokers=3, topics=[topic])
    shown = []
    for victim in (3, 2, 1):
        api.cluster.kill(victim)
        api.reactor.run_for(ms=SESSION_MS)
        if victim == 1:
            break
        (partition,) = describe(api, "t").topics[0].partitions
        shown.append(
            (partition.leader_id, partition.isr_nodes, partition.eligible_leader_replicas, partition.offline_replicas)
        )
    assert shown == [(1, [1, 2], [], [3]), (1, [1], [2], [2, 3])]
    api.cluster.restart(3)
    api.reactor.run_for(ms=SESSION_MS)
    (partition,) = describe(api, "t", broker=3).topics[0].partitions
    assert (partition.leader_id, partition.isr_nodes) == (-1, [])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([1, 2], [1])
    api.cluster.restart(2)
    api.reactor.run_for(ms=SESSION_MS)
    (partition,) = describe(api, "t", broker=3).topics[0].partitions
    assert (partition.leader_id, partition.eligible_leader_replicas) == (-1, [1]), "2 may have lost what it had"
