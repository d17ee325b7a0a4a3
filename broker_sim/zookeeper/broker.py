"""One broker in ZooKeeper mode. Mirrors KafkaServer.

It registers in ZooKeeper, receives its roles and the cluster's metadata from the controller, and may be the controller
itself. It reads configurations from ZooKeeper, notified by a watch when they change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, succeed

from broker_sim.broker import Broker
from broker_sim.broker_state import BrokerState
from broker_sim.controller.producer_ids import ProducerIdManager
from broker_sim.errors import BrokerSimError
from broker_sim.network.connection_quotas import apply_ip_rates
from broker_sim.rpc.link_transport import LinkTransport
from broker_sim.security.authorizer import AclAuthorizer
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.acl_control import AclCache, ZkAclControl
from broker_sim.zookeeper.admin import ZkAdminManager
from broker_sim.zookeeper.consumer_offsets import ConsumerOffsets
from broker_sim.zookeeper.control_requests import ControlRequests
from broker_sim.zookeeper.isr_changes import AlterIsrManager, ZkIsrManager
from broker_sim.zookeeper.kafka_controller import KafkaController
from broker_sim.zookeeper.lifecycle import ZooKeeperLifecycle
from broker_sim.zookeeper.messages import NO_CONTROLLER, ZOOKEEPER_ID, Path, WatchFired, ZooKeeperError
from broker_sim.zookeeper.metadata_updates import updated
from broker_sim.zookeeper.token_control import TOKEN_REQUESTS
from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour
from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import AlterPartitionRequest
from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest
from protocol_specs.messages.leader_and_isr import LeaderAndIsrRequest
from protocol_specs.messages.stop_replica import StopReplicaRequest
from protocol_specs.messages.update_metadata import UpdateMetadataRequest

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.authorizer_settings import AuthorizerSettings
    from broker_sim.links.link_call import LinkCall
    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage
    from broker_sim.replication.alter_partition_manager import IsrManager
    from broker_sim.replication.partition import Partition
    from broker_sim.replication.replica_roles import ReplicaRoles
    from broker_sim.security.authorizer import Authorizer
    from broker_sim.zookeeper.ensemble import ZooKeeper


FIRST_WITH_OFFLINE_REPLICAS: Final = 1
"""The version of LeaderAndIsr since which a broker outlives a log directory (KIP-112, from 1.0 on)."""
FEATURE_EPOCH: Final = 0
"""The version of the features' znode, which is written once: ApiVersions returns it as their epoch."""


class ZooKeeperBroker(Broker):
    """`ensemble` only serves to check whether this broker is up to date; the broker acts on messages alone."""

    active_controller_id: int | None = NO_CONTROLLER
    controller: KafkaController
    control: ControlRequests
    admin: ZkAdminManager

    def __init__(self, *, ensemble: ZooKeeper, **parts: Any) -> None:
        self.ensemble = ensemble
        super().__init__(**parts)

    def _boot_parts(self) -> None:
        super()._boot_parts()
        self.behaviour = behaviour = ZooKeeperBehaviour.of(self.release)
        self._zookeeper_image: MetadataImage | None = None
        self._agreed: tuple[object, object] | None = None
        self.client = client = ZooKeeperClient(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            session_timeout_ms=self.ensemble.session_timeout_ms,
            fired=self._watch_fired,
            expired=self._session_expired,
        )
        self.controller = KafkaController(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            behaviour=behaviour,
            config=lambda: self.config,
            client=client,
        )
        self.control = ControlRequests(
            self,
            refuses_newer_epochs=behaviour.refuses_newer_broker_epochs,
            marks_foreign_partitions_offline=behaviour.marks_foreign_partitions_offline,
        )
        self.active_controller_id = NO_CONTROLLER
        self.lifecycle = ZooKeeperLifecycle(
            host=self,
            incarnation=self.lifecycle.incarnation,
            random=self.random("registration"),
            client=client,
            controlled_shutdown_version=behaviour.controlled_shutdown_version,
            survives_failed_directories=behaviour.leader_and_isr_version >= FIRST_WITH_OFFLINE_REPLICAS,
        )
        self.storage.log_placed = (
            _ignore_placement  # in ZooKeeper mode the controller learns of a directory when it fails
        )
        self.replica_manager.alter_partition = self._isr_manager(behaviour, client)
        self.producer_ids = ProducerIdManager(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            broker_epoch=self._epoch,
            target_id=ZOOKEEPER_ID,
        )
        authorizer = self.authorizer
        self.acl_control = (
            None
            if authorizer is None
            else ZkAclControl(
                self._acl_cache,
                reactor=self.reactor,
                client=client,
                random=self.random("acl changes"),
                behaviour=self.config.behaviour,
                simple=authorizer.settings.simple,
            )
        )
        """The access control entries, None without an authorizer."""
        self.admin = ZkAdminManager(self, client)
        self.zookeeper_offsets = ConsumerOffsets(client)
        self.link_transport = _LinksAndWatches(self)

    def _make_authorizer(self, settings: AuthorizerSettings) -> Authorizer:
        self._acl_cache = cache = AclCache()
        return AclAuthorizer(settings, lambda: cache.entries)

    def _isr_manager(self, behaviour: ZooKeeperBehaviour, client: ZooKeeperClient) -> IsrManager:
        if behaviour.alter_partition_version is None:
            return ZkIsrManager(
                reactor=self.reactor,
                broker_id=self.id,
                client=client,
                controller_epoch=lambda: self.control.controller_epoch,
            )
        return AlterIsrManager(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            broker_epoch=self._epoch,
            controller_id=lambda: NO_CONTROLLER if self.active_controller_id is None else self.active_controller_id,
            version=behaviour.alter_partition_version,
        )

    # State.

    @property
    def metadata_version(self) -> int:
        """The version of ZooKeeper's tree if this broker's topics and brokers agree with it, else -1."""
        truth, known = self.ensemble.image, self.metadata_cache.image
        if self._agreed != (truth, known):
            if not _agree(truth, known):
                return -1
            self._agreed = (truth, known)
        return truth.version

    @property
    def roles(self) -> ReplicaRoles:
        """The partitions that it leads and follows."""
        return self.replica_manager.roles

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        """A hosted partition."""
        return self.replica_manager.partitions.get(topic_partition)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Return True if a hosted partition is in a log directory that has failed."""
        return topic_partition in self.replica_manager.offline

    def mark_offline(self, topic_partition: TopicPartition) -> None:
        """Mark a partition as one in a failed log directory."""
        self.replica_manager.offline[topic_partition] = None

    @property
    def delayed_admin_operations(self) -> list[tuple[str, int]]:
        """The responses that wait for this broker's metadata: the purgatory of each, and its number of keys."""
        return self.admin.delayed

    def topic_configs(self, topic: str) -> Mapping[str, str]:
        """Return a topic's configurations, read where a log is made; brokers are notified of their changes alone.

        Mirrors the fetchEntityConfig of Partition.getOrCreateReplica.
        """
        found = self.ensemble.image.topics.get(topic)
        if found is None:
            return {}
        if self._zookeeper_image is not None:
            self._zookeeper_image = self._zookeeper_image.with_topics([found])
        return found.configs

    def is_alive(self, broker_id: int) -> bool:
        """Return True if the last UpdateMetadata had that broker."""
        return broker_id in self.metadata_cache.image.brokers

    # Start and end of the process.

    def adopt(self, image: MetadataImage) -> None:
        """Run at once, as registered in `image`: how a cluster starts as a whole."""
        self._begin()
        self.links.attach(self.id, self.link_transport)
        self.lifecycle.adopt(image.brokers[self.id].epoch)
        self.client.adopt(self.id)
        info = self.ensemble.adopted_controller()
        self.active_controller_id = info.controller_id
        self.control.controller_epoch = info.epoch
        self.controller.adopt(info, self.ensemble.adopted_snapshot(self.id))
        if self.acl_control is not None:
            self.acl_control.adopt(self.ensemble.acls.everything())
        self._zookeeper_image = image
        self._publish(image.with_version(FEATURE_EPOCH))

    def start(self) -> Deferred[None]:
        """Start the process again; fires when the controller has sent it the cluster's metadata.

        Raises:
            BrokerSimError: The broker is already running.
        """
        if self.alive:
            msg = f"broker {self.id} runs already"
            raise BrokerSimError(msg)
        self._boot_parts()
        self._begin()
        running: Deferred[None] = Deferred()
        self._running = running
        self.lifecycle.start()
        return running

    def registered(self, broker_epoch: int) -> None:  # noqa: ARG002 - followers of that era fetch without it
        """The broker id is in ZooKeeper: open the doors, and take part in the election of the controller."""
        self.links.attach(self.id, self.link_transport)
        if self.acl_control is None:
            self._open_listeners()
        else:
            Deferred.fromCoroutine(self._open_with_acls(self.acl_control))
        Deferred.fromCoroutine(self._read_configs())
        self.controller.start()

    def _open_listeners(self) -> None:
        if self.socket_server is None:
            self.listen()

    async def _open_with_acls(self, control: ZkAclControl) -> None:
        """Listen once the access control entries are known; a session that ends meanwhile has a successor."""
        if await self._read_acls(control):
            self._open_listeners()

    async def _read_acls(self, control: ZkAclControl) -> bool:
        try:
            await control.refresh()
        except ZooKeeperError:
            return False
        return True

    def _end(self, *, abort: bool) -> None:
        if not abort:
            self.client.close()
        self.client.stop()
        self.controller.stop()
        self.admin.stop()
        super()._end(abort=abort)

    # ZooKeeper.

    def _watch_fired(self, paths: list[Path]) -> None:
        if Path.CONFIG_CHANGES in paths:
            Deferred.fromCoroutine(self._read_configs())
        if Path.ACL_CHANGES in paths and self.acl_control is not None:
            Deferred.fromCoroutine(self._read_acls(self.acl_control))
        self.controller.watch_fired(paths)

    def _session_expired(self) -> None:
        self.controller.session_expired()
        lifecycle = self.lifecycle
        assert isinstance(lifecycle, ZooKeeperLifecycle)
        if lifecycle.state is not BrokerState.NOT_RUNNING:
            Deferred.fromCoroutine(lifecycle.register())

    async def _read_configs(self) -> None:
        try:
            image: MetadataImage = await self.client.request(
                "ZooKeeperGetConfigs", lambda zookeeper, _: zookeeper.image
            )
        except ZooKeeperError:
            return  # they are read again in the next session
        self._zookeeper_image = image
        known = self.metadata_cache.image
        changed = [
            replace(topic, configs=image.topics[name].configs)
            for name, topic in known.topics.items()
            if name in image.topics and image.topics[name].configs != topic.configs
        ]
        for topic in changed:
            for index in range(len(topic.partitions)):
                self.storage.change_config(TopicPartition(topic.name, index), topic.configs)
        self._know(
            replace(
                known.with_topics(changed),
                configs=image.configs,
                client_quotas=image.client_quotas,
                scram=image.scram,
                tokens=image.tokens,
                finalized_features=image.finalized_features,
            )
        )
        if self.controller.is_active:
            self.controller.configs_changed()

    # Requests of the controller.

    def metadata_updated(self, request: UpdateMetadataRequest) -> None:
        """Apply the controller's metadata of the cluster."""
        configs = {} if self._zookeeper_image is None else self._zookeeper_image.topics
        self.active_controller_id = request.controller_id
        self._know(updated(self.metadata_cache.image, request, {name: each.configs for name, each in configs.items()}))
        running, self._running = self._running, None
        if running is not None:
            running.callback(None)

    def _know(self, image: MetadataImage) -> None:
        """Replace the metadata image, without any change of roles."""
        old, self.metadata_cache.image = self.metadata_cache.image, image
        self.dynamic_config.apply(image)
        self.coordinators.apply_image(old, image)
        if image.client_quotas is not old.client_quotas:
            self.quotas.apply(image.client_quotas)
            if self.socket_server is not None:
                apply_ip_rates(self.socket_server.connection_quotas, image.client_quotas)
        self.admin.metadata_changed()
        self._image_applied()

    def control_request(self, request: Any, version: int) -> Any:
        """Serve a request of the controller or of another broker; returns a Deferred if the response takes a while."""
        if isinstance(request, LeaderAndIsrRequest):
            return self.control.leader_and_isr(request, version)
        if isinstance(request, UpdateMetadataRequest):
            return self.control.update_metadata(request)
        if isinstance(request, StopReplicaRequest):
            return self.control.stop_replica(request)
        if isinstance(request, ControlledShutdownRequest):
            return self.controller.requests.controlled_shutdown(request)
        if isinstance(request, AlterPartitionRequest):
            return self.controller.requests.alter_partition(request, version)
        return None

    def forward_to_controller(
        self,
        request: Any,
        *,
        timeout_ms: int,  # noqa: ARG002 - the requests have times of their own
        context: RequestContext | None = None,
    ) -> Deferred[Any]:
        """Serve a client here: nothing is forwarded. A request for the controller gets NOT_CONTROLLER elsewhere."""
        if context is not None and isinstance(request, TOKEN_REQUESTS):
            return self.admin.serve_token_request(request, context)
        if self.admin.any_broker_serves(request):
            return self.admin.change_in_zookeeper(request)
        if context is None:
            return self.admin.create_by_itself(request)
        if not self.controller.is_active:
            refused = self.admin.not_controller(request)
            return succeed(refused or self.apis.error_response(context, ErrorCode.NOT_CONTROLLER))
        return self.admin.response(request, context)


class _LinksAndWatches(LinkTransport):
    """The links of a broker, over one of which ZooKeeper reports watches."""

    def __init__(self, broker: ZooKeeperBroker) -> None:
        super().__init__(broker, broker.rpc, journal=broker.journal, peer_reset=broker.peer_reset)
        self._client = broker.client

    def receive_call(self, call: LinkCall) -> None:
        """Take a watch event, or serve another broker."""
        if isinstance(call.request, WatchFired):
            self._client.watch_fired(call.request)
            call.respond(call.request)
        else:
            super().receive_call(call)


def _ignore_placement(topic_partition: TopicPartition, topic_id: bytes, directory_id: bytes) -> None:
    """Do nothing: in ZooKeeper mode the controller needs no report of a replica's directory."""


def _agree(truth: MetadataImage, known: MetadataImage) -> bool:
    """Return True if `known` has all brokers, topics, leaders, SCRAM credentials and tokens of `truth`.

    A partition assigned to brokers that do not exist has no state, and no UpdateMetadata has it.
    """
    if truth.brokers.keys() != known.brokers.keys() or not known.topics.keys() <= truth.topics.keys():
        return False
    if truth.scram != known.scram or truth.tokens != known.tokens:
        return False
    for name, topic in truth.topics.items():
        other = known.topics.get(name)
        if _leaders(topic, truth.brokers) != ({} if other is None else _leaders(other, truth.brokers)):
            return False
    return True


def _leaders(topic: TopicImage, live: Container[int]) -> dict[int, tuple[int, int]]:
    """Return the leader and epoch of each partition that has a state, or gets one as a replica is live."""
    return {
        index: (each.leader, each.leader_epoch)
        for index, each in enumerate(topic.partitions)
        if each.leader_epoch >= 0 or any(replica in live for replica in each.replicas)
    }
