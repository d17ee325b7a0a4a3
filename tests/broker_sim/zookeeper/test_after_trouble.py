"""Trouble first, then liveness: after any faults of brokers and links, a healed cluster comes to rest."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import TopicSpec
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

NODES = (1, 2, 3, 2181)
RELEASES = ("0.9", "0.10.2", "1.1", "2.3", "2.8", "3.1", "3.7.2")
STEPS = 25
CONFIG = {"replica.lag.time.max.ms": "3000", "zookeeper.session.timeout.ms": "3000"}


class Trouble:
    """Draws what happens next to a cluster of three brokers."""

    def __init__(self, zookeeper_cluster: Any, random: Random) -> None:
        self.zookeeper_cluster = zookeeper_cluster
        self.cluster = zookeeper_cluster.cluster
        self.random = random
        self.topics = 0
        self.verbs: list[Callable[[], object]] = [
            self.kill,
            self.stop,
            self.restart,
            self.hold,
            self.cut,
            self.heal_one,
            self.create,
            self.delete,
            self.reassign,
            self.prefer,
        ]

    def broker(self) -> int:
        return self.random.choice((1, 2, 3))

    def kill(self) -> None:
        self.cluster.kill(self.broker())

    def stop(self) -> None:
        self.cluster.stop(self.broker())

    def restart(self) -> None:
        broker_id = self.broker()
        if not self.cluster.broker(broker_id).alive:
            self.cluster.restart(broker_id)

    def hold(self) -> None:
        source, target = self.random.sample(NODES, 2)
        self.cluster.links.link(source, target).hold()

    def cut(self) -> None:
        source, target = self.random.sample(NODES, 2)
        self.cluster.links.link(source, target).cut()

    def heal_one(self) -> None:
        for link in self.cluster.links.links_of(self.broker()):
            link.restore()
            link.release()

    def create(self) -> None:
        self.topics += 1
        factor = self.random.choice((1, 2, 3))
        self.cluster.create_topic(TopicSpec(name=f"n{self.topics}", partitions=2, replication_factor=factor))

    def delete(self) -> Deferred[None] | None:
        names = [name for name in self.zookeeper_cluster.zookeeper.image.topics if name != "t"]
        if not names or not self.cluster.config.delete_topic_enable:
            return None
        deleted: Deferred[None] = self.cluster.delete_topic(self.random.choice(names))
        return deleted

    def reassign(self) -> None:
        target = self.random.sample((1, 2, 3), self.random.choice((1, 2, 3)))
        self.zookeeper_cluster.zookeeper.request_reassignment({TopicPartition("t", self.random.randrange(4)): target})

    def prefer(self) -> None:
        self.zookeeper_cluster.zookeeper.request_preferred_election([TopicPartition("t", index) for index in range(4)])

    def next(self) -> None:
        self.random.choice(self.verbs)()
        self.zookeeper_cluster.run(ms=self.random.choice((1, 50, 500, 4_000, 9_000)))
        controllers = [each for each in (1, 2, 3) if self.zookeeper_cluster.broker(each).controller.is_active]
        epochs = [self.zookeeper_cluster.broker(each).controller.context.epoch for each in controllers]
        assert len(set(epochs)) == len(epochs), "every controller has an epoch of its own"

    def heal(self) -> None:
        for node in NODES:
            for link in self.cluster.links.links_of(node):
                link.restore()
                link.release()

    def come_to_rest(self) -> list[str]:
        for _ in range(60):
            self.zookeeper_cluster.run(ms=2_000)
            for broker_id in (1, 2, 3):
                if not self.cluster.broker(broker_id).alive:
                    self.cluster.restart(broker_id)
            if not self.cluster.pending():
                return []
        pending: list[str] = self.cluster.pending()
        return pending


@pytest.mark.parametrize("seed", range(21))
def test_a_healed_cluster_comes_to_rest(zookeeper_cluster: Callable[..., Any], seed: int) -> None:
    random = Random(seed)
    delay_ms = random.choice((0.0, 1.0, 5.0))
    cluster = zookeeper_cluster(
        RELEASES[seed % len(RELEASES)], partitions=4, config=CONFIG, seed=seed, link_delay_ms=delay_ms
    )
    trouble = Trouble(cluster, random)
    for _ in range(STEPS):
        trouble.next()
    trouble.heal()
    assert trouble.come_to_rest() == []
    assert [cluster.broker(each).controller.is_active for each in (1, 2, 3)].count(True) == 1
    for name, topic in cluster.zookeeper.image.topics.items():
        for index, partition in enumerate(topic.partitions):
            hosted = cluster.broker(partition.leader).partition(TopicPartition(name, index))
            assert (hosted.is_leader, hosted.leader_epoch) == (True, partition.leader_epoch)
