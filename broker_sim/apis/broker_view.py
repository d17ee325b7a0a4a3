"""The part of a broker that its API handlers use. A controller that serves the same API has the same part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from random import Random

    from twisted.internet.defer import Deferred

    from broker_sim.apis.kafka_apis import KafkaApis
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.broker_listeners import BrokerListeners
    from broker_sim.config.broker_loggers import BrokerLoggers
    from broker_sim.control.journal import Journal
    from broker_sim.controller.producer_ids import ProducerIdManager
    from broker_sim.coordinators.coordinators import Coordinators
    from broker_sim.log.replica_storage import ReplicaStorage
    from broker_sim.metadata.metadata_cache import MetadataCache
    from broker_sim.quotas.quota_managers import QuotaManagers
    from broker_sim.replication.replica_manager import ReplicaManager
    from broker_sim.security.authorizer import Authorizer
    from broker_sim.share_partitions.share_partition_manager import SharePartitionManager
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

__all__ = ["BrokerView", "ZooKeeperOffsets"]


class ZooKeeperOffsets(Protocol):
    """The offsets that groups commit to ZooKeeper."""

    async def commit(self, group_id: str, partition: TopicPartition, offset: int) -> ErrorCode:
        """Write the offset of a partition."""

    async def fetch(self, group_id: str, partition: TopicPartition) -> tuple[int | None, ErrorCode]:
        """Return the committed offset of a partition, None without one, and the error."""


class BrokerView(Protocol):
    """Mirrors the constructor arguments of KafkaApis: identity, configuration, metadata, replicas, quotas."""

    id: int
    cluster_id: str
    config: BrokerConfig
    release: Release
    reactor: IReactor
    journal: Journal
    listeners: BrokerListeners
    loggers: BrokerLoggers
    metadata_cache: MetadataCache
    replica_manager: ReplicaManager
    storage: ReplicaStorage
    coordinators: Coordinators
    quotas: QuotaManagers
    apis: KafkaApis
    producer_ids: ProducerIdManager
    active_controller_id: int | None
    authorizer: Authorizer | None
    """None without authorizer.class.name."""
    zookeeper_offsets: ZooKeeperOffsets | None
    """None in KRaft mode."""

    @property
    def share_partitions(self) -> SharePartitionManager:
        """The share partitions of this incarnation."""

    def random(self, part: str) -> Random:
        """Return the random stream of one of the broker's parts."""

    def now_ms(self) -> int:
        """Return the broker's own wall clock, in milliseconds since the epoch."""

    def forward_to_controller(
        self, request: Any, *, timeout_ms: int, context: RequestContext | None = None
    ) -> Deferred[Any]:
        """Send a client's request to the controller (KIP-590); fails with LinkFailure when it cannot be reached."""

    def control_request(self, request: Any, version: int) -> Any:
        """Serve a request of ZooKeeper mode: from the controller, or to it. Brokers in KRaft mode list none of them."""
