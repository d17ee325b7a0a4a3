"""A cluster on virtual time whose brokers run counting shards over `__consumer_offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.coordinators.runtime.append_settings import AppendSettings
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
from broker_sim.topic_spec import TopicSpec
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor
from tests.broker_sim.coordinators.runtime.counting_shard import CountingShard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_sim.broker import Broker

TOPIC = Log.CONSUMER_OFFSETS.value


class RuntimeBench:
    """A cluster with one partition of the topic, and a runtime of counting shards per broker."""

    def __init__(self, *, brokers: int, replicas: int, linger_ms: int, write_timeout_ms: int) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=brokers,
            topics=[TopicSpec(name="other")],
            config={"offsets.topic.num.partitions": "1"},
            listen=False,
        )
        self.cluster.start()
        self.runtimes = {
            broker.id: self._runtime(broker, linger_ms, write_timeout_ms) for broker in self.cluster.brokers.values()
        }
        self.cluster.create_topic(TopicSpec(name=TOPIC, replication_factor=replicas))
        self.settle()

    def _runtime(self, broker: Broker, linger_ms: int, write_timeout_ms: int) -> CoordinatorRuntime[CountingShard]:
        runtime: CoordinatorRuntime[CountingShard] = CoordinatorRuntime(
            log=Log.CONSUMER_OFFSETS,
            host=broker,
            make_shard=CountingShard,
            settings=lambda: AppendSettings(linger_ms, write_timeout_ms),
        )

        class Listener:
            def elected(self, topic_partition: Any, leader_epoch: int) -> None:
                if topic_partition.topic == TOPIC:
                    runtime.elected(topic_partition.partition, leader_epoch)

            def resigned(self, topic_partition: Any) -> None:
                if topic_partition.topic == TOPIC:
                    runtime.resigned(topic_partition.partition)

        broker.replica_manager.roles.leadership_listeners = [Listener()]
        return runtime

    @property
    def leader(self) -> int:
        """The broker that leads the partition."""
        leader = self.cluster.leader_of(TOPIC, 0)
        assert leader is not None
        return leader

    @property
    def runtime(self) -> CoordinatorRuntime[CountingShard]:
        """The runtime of the leader."""
        return self.runtimes[self.leader]

    @property
    def shard(self) -> CountingShard:
        """The active shard of the leader."""
        shard = self.runtime.shard(0)
        assert shard is not None
        return shard

    def write(self, operation: Callable[[CountingShard], Any]) -> list[Any]:
        """Run a write operation; the list gets its response or its CoordinatorError."""
        ended: list[Any] = []
        self.runtime.write(0, "test", operation).then(ended.append, ended.append)
        return ended

    def settle(self, ms: int = 100) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)


@pytest.fixture
def bench() -> Iterator[Callable[..., RuntimeBench]]:
    benches: list[RuntimeBench] = []

    def start(
        *, brokers: int = 1, replicas: int = 1, linger_ms: int = 0, write_timeout_ms: int = 5_000
    ) -> RuntimeBench:
        benches.append(
            RuntimeBench(brokers=brokers, replicas=replicas, linger_ms=linger_ms, write_timeout_ms=write_timeout_ms)
        )
        return benches[-1]

    yield start
    for each in benches:
        for runtime in each.runtimes.values():
            runtime.stop()
        each.cluster.close()
