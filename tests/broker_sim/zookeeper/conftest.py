"""Clusters of the ZooKeeper era: `zookeeper_cluster` makes Replicas whose brokers and ensemble are typed as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import RequestReceived
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.broker import ZooKeeperBroker
from broker_sim.zookeeper.ensemble import ZooKeeper
from broker_sim.zookeeper.messages import ZOOKEEPER_ID
from protocol_specs.records.message_set_builder import MessageSetBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.log.append_results import PartitionAppend

TIMESTAMP_MS = 1_767_225_600_000
RELEASES = ("0.8.2", "0.10.2", "1.1", "2.3", "2.8", "3.7.2")
"""One of each kind: 3.7.2 is in ZooKeeper mode because its configuration names one."""


class ZooKeeperCluster:
    """A cluster of brokers 1 to 3, of which 1 is the controller; `replicas` drives it."""

    def __init__(self, replicas: Any) -> None:
        self.replicas = replicas
        self.cluster = replicas.cluster
        self.run = replicas.run
        assert isinstance(self.cluster.controller, ZooKeeper)
        self.zookeeper: ZooKeeper = self.cluster.controller

    def broker(self, broker_id: int) -> ZooKeeperBroker:
        broker = self.cluster.broker(broker_id)
        assert isinstance(broker, ZooKeeperBroker)
        return broker

    def send(
        self, broker_id: int, value: int, *, acks: int = 1, partition: int = 0, timeout_ms: int = 1_000
    ) -> list[PartitionAppend]:
        """Produce one record in the release's format; the list is empty until the response has come."""
        name = TopicPartition("t", partition)
        records = self._records(broker_id, value)
        response = self.broker(broker_id).replica_manager.append_records(
            request_id=1, timeout_ms=timeout_ms, required_acks=acks, entries=[(name, records)]
        )
        responses: list[PartitionAppend] = []
        if isinstance(response, Deferred):
            response.addCallback(responses.extend)
        else:
            responses.extend(response)
        return responses

    def _records(self, broker_id: int, value: int) -> bytes:
        fetch = self.broker(broker_id).release.api_versions[1].highest
        if fetch >= 4:
            return bytes(self.replicas.batch(value))
        builder = MessageSetBuilder(magic=1 if fetch >= 2 else 0)
        builder.append(TIMESTAMP_MS, None, value.to_bytes(8, "big"))
        return builder.build()

    def end(self, broker_id: int, partition: int = 0) -> int:
        """How many records a broker's log has."""
        log = self.cluster.log_of(broker_id, "t", partition)
        assert log is not None
        return log.log_end_offset

    def hold(self, source: int, target: int) -> None:
        self.cluster.links.link(source, target).hold()

    def release(self, source: int, target: int) -> None:
        self.cluster.links.link(source, target).release()

    def cut_from_zookeeper(self, broker_id: int) -> None:
        self.cluster.links.link(broker_id, ZOOKEEPER_ID).cut()
        self.cluster.links.link(ZOOKEEPER_ID, broker_id).cut()

    def back_to_zookeeper(self, broker_id: int) -> None:
        self.cluster.links.link(broker_id, ZOOKEEPER_ID).restore()
        self.cluster.links.link(ZOOKEEPER_ID, broker_id).restore()

    def run_out_session(self) -> None:
        """Let a session without heartbeats expire, and its consequences happen."""
        self.run(ms=self.zookeeper.session_timeout_ms + 2_000)

    def known_leader(self, broker_id: int, topic: str, partition: int) -> tuple[int, int]:
        """Leader and epoch as a broker's metadata has them."""
        known = self.broker(broker_id).metadata_cache.image.partition(topic, partition)
        return (-1, -1) if known is None else (known.leader, known.leader_epoch)

    def requests(self, api: str, *, broker: int | None = None, since_us: int = 0) -> list[RequestReceived]:
        """The requests of an API that came in over links."""
        return [
            event
            for event in self.cluster.journal.events_of(RequestReceived)
            if isinstance(event, RequestReceived)
            and event.api == api
            and event.time_us >= since_us
            and broker in (None, event.broker_id)
        ]


@pytest.fixture
def zookeeper_cluster(replicas: Callable[..., Any]) -> Callable[..., ZooKeeperCluster]:
    def make(release: str = "2.3", **options: Any) -> ZooKeeperCluster:
        config = dict(options.pop("config", {}))
        if release.startswith("3.7"):
            config["zookeeper.connect"] = "zookeeper:2181"
        return ZooKeeperCluster(replicas(release=release, config=config, **options))

    return make
