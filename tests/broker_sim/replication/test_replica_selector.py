"""The preferred read replica of consumers (KIP-392), beyond the recorded exchanges."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.errors import ConfigError
from broker_sim.replication.requests import FetchParams, PartitionFetch, PartitionFetchResult
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World

Make = Any
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
CONFIG = {
    "replica.selector.class": RACK_AWARE,
    "replica.lag.time.max.ms": "1000",
    "1:broker.rack": "a",
    "2:broker.rack": "b",
    "3:broker.rack": "b",
}


def read(cluster: Any, *, broker: int = 1, offset: int = 0, rack: str | None = "b") -> PartitionFetchResult:
    params = FetchParams(
        max_wait_ms=0, min_bytes=0, max_bytes=1_000_000, fetch_only_leader=False, rack_id=rack, replica_id=-1
    )
    requested = PartitionFetch(topic_partition=cluster.topic, fetch_offset=offset, max_bytes=1_000_000)
    (result,) = cluster.cluster.broker(broker).replica_manager.fetch(params=params, partitions=[requested])
    assert isinstance(result, PartitionFetchResult)
    return result


def test_the_furthest_follower_of_the_rack_is_preferred(replicas: Make) -> None:
    cluster = replicas(config=CONFIG)
    cluster.produce(0)
    cluster.hold_fetches(3)
    cluster.produce(1, acks=1)
    cluster.run(ms=1)
    assert read(cluster).preferred_read_replica == 2
    cluster.release_fetches(3)
    cluster.hold_fetches(2)
    cluster.produce(2, acks=1)
    cluster.run(ms=1)
    assert read(cluster).preferred_read_replica == 3


def test_a_follower_that_lacks_the_offset_is_not_preferred(replicas: Make) -> None:
    cluster = replicas(config=CONFIG)
    cluster.produce(0)
    cluster.hold_fetches(2, 3)
    cluster.produce(1, acks=1)
    assert read(cluster, offset=1).preferred_read_replica in {2, 3}
    assert read(cluster, offset=2).preferred_read_replica == -1


def test_a_follower_outside_of_the_isr_is_not_preferred(replicas: Make) -> None:
    cluster = replicas(config=CONFIG)
    cluster.produce(0)
    cluster.hold_fetches(2, 3)
    cluster.produce(1, acks=1)
    cluster.run(ms=3_000)
    assert cluster.isr() == (1,)
    response = read(cluster)
    assert response.preferred_read_replica == -1
    assert [batch.base_offset for batch in response.batches] == [0, 1]


def test_a_dead_followers_rack_is_served_by_the_leader(replicas: Make) -> None:
    cluster = replicas(config={**CONFIG, "3:broker.rack": "c"})
    cluster.produce(0)
    assert read(cluster).preferred_read_replica == 2
    cluster.cluster.kill(2)
    cluster.run(ms=12_000)
    assert read(cluster).preferred_read_replica == -1


def test_a_follower_serves_no_further_than_it_knows_to_be_committed(replicas: Make) -> None:
    cluster = replicas(config=CONFIG, link_delay_ms=5)
    cluster.produce(0)
    cluster.run(ms=1_000)
    cluster.produce(1)
    assert cluster.high_watermark(1) == 2
    assert cluster.high_watermark(2) == 1, "sent with the next response only"
    assert [batch.base_offset for batch in read(cluster, broker=2).batches] == [0]
    assert read(cluster, broker=2, offset=2).batches == []
    assert read(cluster, broker=2, offset=3).error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    cluster.run(ms=600)
    assert [batch.base_offset for batch in read(cluster, broker=2).batches] == [0, 1]


def test_a_lagging_follower_refuses_offsets_that_it_has_not_copied(replicas: Make) -> None:
    cluster = replicas(config=CONFIG)
    cluster.produce(0)
    cluster.hold_fetches(2)
    for value in (1, 2, 3):
        cluster.produce(value, acks=1)
        cluster.run(ms=1)
    assert read(cluster, broker=2, offset=3).error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(cluster, broker=3, offset=3).error_code is ErrorCode.NONE


def test_without_a_selector_no_rack_matters(replicas: Make) -> None:
    cluster = replicas(config={name: value for name, value in CONFIG.items() if name != "replica.selector.class"})
    cluster.produce(0)
    response = read(cluster)
    assert response.preferred_read_replica == -1
    assert len(response.batches) == 1


@pytest.mark.parametrize("name", ["org.example.Mine", "org.apache.kafka.common.replica.RackAwareReplicaSelektor", ""])
def test_a_class_that_cannot_run_here_is_refused(name: str) -> None:
    world = World(0)
    with pytest.raises(ConfigError, match=r"replica.selector.class.*RackAwareReplicaSelector"):
        Cluster(
            reactor=world.reactor,
            streams=world.streams,
            config={"replica.selector.class": name},
            listen=False,
        )
