from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

RELEASE = 2


def test_a_fetch_waits_for_records(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    waiting = share.send(share.fetch_request(max_wait_ms=5000), 2)
    share.run(500)
    assert not waiting.called
    share.produce(3)
    response = share.reactor.run_until(waiting, deadline_ms=100)
    [data] = response.responses[0].partitions
    assert [(each.first_offset, each.last_offset) for each in data.acquired_records] == [(0, 2)]


def test_the_end_of_a_session_releases_its_records_for_the_next_fetch(
    share_group: Callable[..., ShareGroupBench],
) -> None:
    share = share_group()
    share.produce(3)
    assert share.acquired("one") == [(0, 2, 1)]
    waiting = share.send(share.fetch_request("two", max_wait_ms=5000), 2)
    share.run(500)
    assert share.fetch("one", epoch=-1).error_code == 0
    share.run(4000)
    assert not waiting.called  # as in Kafka: nothing checks it before its deadline
    response = share.reactor.run_until(waiting, deadline_ms=600)
    [data] = response.responses[0].partitions
    assert [(each.first_offset, each.delivery_count) for each in data.acquired_records] == [(0, 2)]


def test_the_end_of_the_last_connection_forgets_the_group(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(3)
    share.acquired()
    manager = share.cluster.brokers[1].share_partitions
    [session] = manager.sessions.of_group("g")
    manager.connection_closed(session.key, "another")
    assert len(manager.partitions) == 1
    manager.connection_closed(session.key, session.connection_id)
    share.run(100)
    assert (len(manager.sessions), manager.partitions) == (0, {})
    assert share.stored() == [(0, 2, 0, 1)]


def test_a_group_is_forgotten_with_the_connection_of_a_closed_session(
    share_group: Callable[..., ShareGroupBench],
) -> None:
    share = share_group()
    share.produce(3)
    share.acquired()
    manager = share.cluster.brokers[1].share_partitions
    [session] = manager.sessions.of_group("g")
    share.fetch(epoch=-1)
    assert len(manager.partitions) == 1
    manager.connection_closed(session.key, session.connection_id)
    assert manager.partitions == {}


def test_a_partition_that_moves_away_is_forgotten(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(3)
    share.acquired()
    share.cluster.delete_topic("orders")
    share.run(100)
    assert share.cluster.brokers[1].share_partitions.partitions == {}


def test_a_fetch_gets_the_records_of_the_partition_that_is_initialized_first(
    share_group: Callable[..., ShareGroupBench],
) -> None:
    share = share_group(partitions=2)
    for partition in (0, 1):
        share.produce(3, partition)
    response = share.fetch(partitions=(0, 1), max_wait_ms=5000)
    assert [len(data.acquired_records) for topic in response.responses for data in topic.partitions] == [1]
    response = share.fetch(max_wait_ms=5000)
    assert sum(len(data.acquired_records) for topic in response.responses for data in topic.partitions) == 1
