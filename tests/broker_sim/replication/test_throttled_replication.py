"""Replicas that are copied under a throttle (KIP-73), on virtual time: bytes by rate is how long it takes."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import Detail, RequestReceived
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

Make = Any
TOPIC, BROKER, SET, DELETE = 2, 4, 0, 1
RATE = 10_000
BATCHES = 500
NEWCOMER = 4
CHUNKS = {"replica.fetch.max.bytes": "2000", "replica.fetch.response.max.bytes": "2000"}


def configure(cluster: Any, kind: int, name: str, **configs: str | None) -> None:
    """Change dynamic configurations of a topic or of a broker; None removes one."""
    changes = [
        AlterableConfig(name=key.replace("_", "."), config_operation=DELETE if value is None else SET, value=value)
        for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = cluster.cluster.controller.controls.configs.alter_incrementally(request)
    assert [each.error_code for each in response.responses] == [0], response


def throttle(cluster: Any, *sides: str, rate: int | None = RATE, replicas: str | None = "*") -> None:
    """Throttle all replicas of the topic on these sides."""
    for broker in cluster.cluster.brokers:
        rates = {f"{side}_replication_throttled_rate": None if rate is None else str(rate) for side in sides}
        configure(cluster, BROKER, str(broker), **rates)
    configure(cluster, TOPIC, "t", **{f"{side}_replication_throttled_replicas": replicas for side in sides})


def later(cluster: Any, seconds: float, *sides: str, rate: int | None, replicas: str | None) -> None:
    """Throttle otherwise in some seconds."""
    cluster.reactor.callLater(seconds, lambda: throttle(cluster, *sides, rate=rate, replicas=replicas))


def filled(replicas: Make, **options: Any) -> tuple[Any, int]:
    """A cluster of four whose fourth broker has no replica; and the bytes of its log."""
    cluster = replicas(**{"brokers": 4, "config": CHUNKS, **options})
    for value in range(BATCHES):
        cluster.send(value, acks=1)
    cluster.run(ms=1_000)
    return cluster, cluster.partition(1).log.size_in_bytes


def seconds_to_move(cluster: Any, *to: int, seconds_max: int = 600) -> float:
    """How long the reassignment of the partition takes."""
    wanted = ReassignablePartition(partition_index=0, replicas=list(to))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=1_000, topics=[ReassignableTopic(name="t", partitions=[wanted])]
    )
    response = cluster.cluster.controller.controls.partitions.reassign(request)
    assert response.responses[0].partitions[0].error_code == 0
    began_s = cluster.reactor.seconds()
    cluster.world.run_until(
        lambda: cluster.cluster.registration_of(*cluster.topic).replicas == to, deadline_ms=seconds_max * 1_000
    )
    return float(cluster.reactor.seconds() - began_s)


@pytest.mark.parametrize("sides", [("leader",), ("follower",), ("leader", "follower")])
@pytest.mark.parametrize("detail", list(Detail))
def test_a_throttled_reassignment_takes_its_bytes_by_its_rate(
    replicas: Make, sides: tuple[str, ...], detail: Detail
) -> None:
    cluster, size = filled(replicas, detail=detail)
    throttle(cluster, *sides)
    seconds = seconds_to_move(cluster, 1, 2, NEWCOMER)
    assert size / RATE * 0.85 < seconds < size / RATE * 1.3
    assert cluster.values(NEWCOMER) == list(range(BATCHES))


def test_without_a_throttle_it_takes_no_time(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    assert seconds_to_move(cluster, 1, 2, NEWCOMER) < 1


def test_half_the_rate_takes_twice_as_long(replicas: Make) -> None:
    taken = []
    for rate in (RATE, RATE // 2):
        cluster, _ = filled(replicas)
        throttle(cluster, "leader", "follower", rate=rate)
        taken.append(seconds_to_move(cluster, 1, 2, NEWCOMER))
    assert 1.6 < taken[1] / taken[0] < 2.4


def test_a_rate_that_is_raised_on_the_way_holds_at_once(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, "leader", "follower", rate=100)
    later(cluster, 20, "leader", "follower", rate=10_000_000, replicas="*")
    assert 20 < seconds_to_move(cluster, 1, 2, NEWCOMER) < 25


@pytest.mark.parametrize("sides", [("leader",), ("follower",)])
def test_replicas_that_the_list_does_not_name_are_not_throttled(replicas: Make, sides: tuple[str, ...]) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, *sides, rate=1, replicas="0:2,0:3")
    assert seconds_to_move(cluster, 1, 2, NEWCOMER) < 1


def test_replicas_in_sync_are_never_throttled(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    throttle(cluster, "leader", "follower", rate=1)
    for value in range(1, 20):
        assert cluster.produce(value).error_code == 0
    cluster.run(ms=600)
    assert cluster.isr() == (1, 2, 3)
    assert cluster.values(2) == cluster.values(3) == list(range(20))


def test_replicas_in_sync_use_the_quota_up_all_the_same(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, "leader")
    undisturbed = seconds_to_move(cluster, 1, 2, NEWCOMER)
    cluster, _ = filled(replicas)
    throttle(cluster, "leader")

    def produce() -> None:
        cluster.send(-1, acks=1)
        cluster.reactor.callLater(0.05, produce)

    produce()
    assert seconds_to_move(cluster, 1, 2, NEWCOMER) > 1.3 * undisturbed


def test_a_throttle_that_is_taken_away_leaves_nothing_behind(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, "leader", "follower", rate=1)
    later(cluster, 5, "leader", "follower", rate=None, replicas=None)
    assert 5 < seconds_to_move(cluster, 1, 2, NEWCOMER) < 8
    assert not any(broker.replica_manager.replication_quotas.active for broker in cluster.cluster.brokers.values())


def test_a_throttle_survives_a_restart(replicas: Make) -> None:
    cluster, size = filled(replicas)
    throttle(cluster, "follower")
    restarted = cluster.cluster.restart(NEWCOMER)
    cluster.world.run_until(restarted, deadline_ms=30_000)
    assert seconds_to_move(cluster, 1, 2, NEWCOMER) > size / RATE * 0.85


def test_a_deleted_topic_is_throttled_no_more(replicas: Make) -> None:
    cluster = replicas()
    throttle(cluster, "leader", "follower")
    cluster.run(ms=10)
    quotas = cluster.cluster.broker(1).replica_manager.replication_quotas
    assert quotas.active
    cluster.world.run_until(cluster.cluster.delete_topic("t"), deadline_ms=1_000)
    assert not quotas.active


def test_an_idle_throttle_is_silent(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, "leader", "follower")
    seconds_to_move(cluster, 1, 2, NEWCOMER)
    cluster.run(ms=60_000)
    before = len(fetches(cluster))
    cluster.run(ms=600_000)
    assert len(fetches(cluster)) == before


def fetches(cluster: Any) -> list[RequestReceived]:
    return [event for event in cluster.journal.events_of(RequestReceived) if event.api == "Fetch"]


def test_a_follower_over_a_wire_waits_as_one_over_a_link(replicas: Make) -> None:
    cluster, _ = filled(replicas)
    throttle(cluster, "leader")
    cluster.cluster.kill(3)
    cluster.run(ms=60_000)
    assert cluster.isr() == (1, 2)
    broker = cluster.cluster.broker(1)
    requested = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20, current_leader_epoch=0)
    request = FetchRequest(
        replica_state=ReplicaState(replica_id=3, replica_epoch=-1),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic_id=cluster.partition(1).topic_id, partitions=[requested])],
    )

    def fetch() -> tuple[float, int]:
        began_s = cluster.reactor.seconds()
        response = cluster.world.run_until(PlainCalls(broker).call(request, 18), deadline_ms=5_000)
        (partition,) = response.responses[0].partitions
        assert partition.error_code == 0
        return cluster.reactor.seconds() - began_s, sum(len(part) for part in partition.records or [])

    waited_s, size = fetch()
    assert (waited_s, size > RATE) == (0, True), "nothing has been counted yet"
    assert fetch() == (pytest.approx(0.5), 0), "far too much has been counted"
    cluster.run(ms=size / RATE * 1_000)
    waited_s, size = fetch()
    assert (waited_s, size > RATE) == (0, True)


@pytest.mark.parametrize("sides", [("leader",), ("follower",), ("leader", "follower")])
@pytest.mark.parametrize("delay_ms", [0.0, 5.0])
def test_a_leader_that_dies_under_a_throttle_is_followed_by_the_next(
    replicas: Make, sides: tuple[str, ...], delay_ms: float
) -> None:
    cluster, _ = filled(replicas, link_delay_ms=delay_ms)
    throttle(cluster, *sides, rate=1_000)
    cluster.cluster.kill(3)
    cluster.run(ms=12_000)
    for value in range(50):
        cluster.send(value, acks=1)
    restarted = cluster.cluster.restart(3)
    cluster.world.run_until(restarted, deadline_ms=30_000)
    cluster.run(ms=2_000)
    cluster.cluster.kill(1)
    cluster.run(ms=12_000)
    assert cluster.leader() == 2
    throttle(cluster, *sides, rate=1_000_000)
    restarted = cluster.cluster.restart(1)
    cluster.world.run_until(restarted, deadline_ms=30_000)
    cluster.settle(within_ms=60_000)
    assert cluster.values(1) == cluster.values(2) == cluster.values(3)
