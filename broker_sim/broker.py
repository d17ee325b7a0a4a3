"""One broker, wired from its parts. Mirrors BrokerServer.

A broker keeps identity, configuration, clock and disk for all its incarnations. Metadata, replicas, lifecycle, APIs and
sockets belong to one incarnation: a start creates them, and `kill` or `stop` ends them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.kafka_apis import KafkaApis
from broker_sim.broker_lifecycle import NO_EPOCH, BrokerLifecycle
from broker_sim.broker_state import BrokerState
from broker_sim.clock import BrokerClock
from broker_sim.config.authorizer_settings import AuthorizerSettings
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.broker_loggers import BrokerLoggers
from broker_sim.config.dynamic_broker_config import DynamicBrokerConfig
from broker_sim.control.events import (
    BrokerKilled,
    BrokerPaused,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    PowerLost,
)
from broker_sim.controller.envelope import ForwardedRequest, ForwardedResponse
from broker_sim.controller.producer_ids import ProducerIdManager
from broker_sim.coordinators.coordinators import Coordinators
from broker_sim.errors import BrokerSimError
from broker_sim.links.controller_versions import controller_version
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.log.log_manager import LogManager
from broker_sim.log.replica_storage import ReplicaStorage
from broker_sim.log_dir_failures import LogDirFailures
from broker_sim.metadata.metadata_cache import MetadataCache
from broker_sim.metadata.metadata_image import FeatureRange, MetadataImage
from broker_sim.metadata.metadata_loader import MetadataLoader
from broker_sim.metadata.metadata_log import FIRST_LEADER_EPOCH
from broker_sim.metadata.metadata_records import METADATA_VERSION
from broker_sim.metadata.protocol_release import protocol_release
from broker_sim.metrics.request_metrics import RequestMetrics
from broker_sim.network.connection_quotas import apply_ip_rates
from broker_sim.network.socket_server import SocketServer
from broker_sim.quotas.quota_managers import QuotaManagers, Throttles
from broker_sim.replication.alter_partition_manager import AlterPartitionManager
from broker_sim.replication.follower_versions import follower_versions
from broker_sim.replication.replica_manager import ReplicaManager
from broker_sim.rpc.link_transport import LinkTransport
from broker_sim.rpc.quota_stage import DelayingQuotaStage
from broker_sim.rpc.rpc_server import RpcServer
from broker_sim.security.authorizer import Authorizer
from broker_sim.security.delegation_token import TokenCredentials, secret_of
from protocol_specs import releases
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from broker_sim.apis.broker_view import ZooKeeperOffsets
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_listeners import BrokerListeners
    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import Faults
    from broker_sim.links.link import Link
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.power_loss import UnflushedTails
    from broker_sim.security.delegation_token import TokenLogin
    from broker_sim.share_partitions.share_partition_manager import SharePartitionManager
    from broker_sim.socket_pause import SocketPause
    from protocol_specs.sasl.scram import ScramCredential, ScramMechanism
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

UUID_BYTES: Final = 16


class Broker:
    """One broker of a cluster. Without `listen` it opens no sockets and is reached over links only."""

    active_controller_id: int | None = None
    """The broker that is the controller, as this broker knows it; None with KRaft, where no broker is."""
    zookeeper_offsets: ZooKeeperOffsets | None = None
    """The offsets that groups commit to ZooKeeper; None with KRaft."""

    def __init__(
        self,
        *,
        broker_id: int,
        config: BrokerConfig,
        reactor: IReactor,
        links: NodeLinks,
        journal: Journal,
        faults: Faults,
        streams: RandomStreams,
        cluster_id: str,
        listeners: BrokerListeners,
        listen: bool = True,
        make_storage: Callable[[Broker], ReplicaStorage] | None = None,
        image_applied: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = broker_id
        self.config = config
        self._static_config = config
        self.release = config.release_table
        self.reactor = reactor
        self.links = links
        self.journal = journal
        self._faults = faults
        self.clock = BrokerClock(reactor)
        self.now_ms = self.clock.now_ms
        """Returns the broker's own wall clock, in milliseconds since the epoch."""
        self._streams = streams
        self.storage = (
            ReplicaStorage(config, random=self.random("segment rolls"), broker_id=broker_id)
            if make_storage is None
            else make_storage(self)
        )
        self.cluster_id = cluster_id
        self.listeners = listeners
        self.rack = config.broker_rack
        self.metadata_lag_ms = 0.0
        """The delay between arrival and replay of the metadata log, in milliseconds; it can change at any time."""
        self.metadata_held = False
        """True while the broker replays nothing of the metadata log: see `hold_metadata` and `resume_metadata`."""
        self.process_starts: Callable[[], None] = _nothing
        """Called before each later incarnation starts."""
        self.process_ended: Callable[[], None] = _nothing
        """Called when an incarnation has ended, in order or not, but for the end of the cluster."""
        self._listens = listen
        self._image_applied = image_applied
        self._previous_epoch = NO_EPOCH
        self._running: Deferred[None] | None = None
        self._unflushed: UnflushedTails | None = None
        self._pause: SocketPause | None = None
        self.socket_server: SocketServer | None = None
        self._last_request_id = 0
        self.throttles: dict[str, Throttles] = {}
        """The requests that exceeded a quota, by client.id, since the broker's first start."""
        self._token_credentials: TokenCredentials | None = None
        self._boot_parts()

    def random(self, part: str) -> Random:
        """Return the random stream of one of the broker's parts; it continues after a restart."""
        return self._streams.stream(f"broker {self.id} {part}")

    def use_release(self, release: str) -> None:
        """Be a broker of another release from the next start on; the process has ended. Raises ConfigError."""
        assert not self.alive, "a process has one release"
        old = self._static_config
        self._static_config = config = replace(
            BrokerConfig.parse(old.overrides, release=release), part_types=old.part_types
        )
        self.config = config
        self.release = config.release_table
        self.storage.use_release(config)

    def _boot_parts(self) -> None:
        self.dynamic_config = DynamicBrokerConfig(self._static_config, self.id)
        self.dynamic_config.subscribe(self._reconfigure)
        self.loggers = BrokerLoggers(self._static_config.release)
        self.config = self._static_config
        self.metadata_cache = MetadataCache(MetadataImage.empty(self.cluster_id))
        self.lifecycle = BrokerLifecycle(
            host=self,
            incarnation=self.random("incarnations").randbytes(UUID_BYTES),
            previous_epoch=self._previous_epoch,
            random=self.random("registration"),
        )
        self._previous_epoch = NO_EPOCH
        self._unpublished: MetadataImage | None = None
        part_types = self.config.part_types
        self.replica_manager = self._make_replica_manager()
        self.dynamic_config.subscribe(self.replica_manager.replication_quotas.reconfigure)
        self.coordinators = part_types.of(Coordinators)(self)
        self._share_partitions: SharePartitionManager | None = None
        self.replica_manager.roles.leadership_listeners = [self.coordinators]
        self._log_manager = part_types.of(LogManager)(
            reactor=self.reactor,
            config=self.config,
            now_ms=self.clock.now_ms,
            logs=lambda: self.storage.logs,
            log_start_moved=self.replica_manager.log_start_moved,
        )
        self.storage.compacted_log_appeared = self._log_manager.wake_cleaner
        self.log_dir_failures = LogDirFailures(self)
        self.producer_ids = ProducerIdManager(
            reactor=self.reactor, links=self.links, broker_id=self.id, broker_epoch=self._epoch
        )
        self._loader = MetadataLoader(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            release=self.release,
            empty=MetadataImage.empty(self.cluster_id),
            lag_ms=lambda: self.metadata_lag_ms,
            apply=self._apply_image,
        )
        self._loader.held = self.metadata_held
        self.started_us = self.journal.now_us()
        self.quotas = QuotaManagers(self.config, self.journal.now_us, self.throttles)
        self.request_metrics = RequestMetrics(self.journal.now_us)
        settings = AuthorizerSettings.of(self.config)
        self.authorizer = None if settings is None else self._make_authorizer(settings)
        self.apis = part_types.of(KafkaApis)(self)
        delays = self.config.behaviour.throttles_before_the_response
        self.rpc = RpcServer(
            node_id=self.id,
            apis=self.apis,
            journal=self.journal,
            faults=self._faults,
            quotas=self.quotas,
            quota_stage=DelayingQuotaStage(self.quotas, self.reactor) if delays else None,
        )
        self.link_transport = LinkTransport(self, self.rpc, journal=self.journal, peer_reset=self.peer_reset)
        self.protocol = self.release
        """The release whose versions it uses to other brokers: that of the finalized metadata.version."""

    def after_next_request(self, action: Callable[[], object]) -> None:
        """Run `action` at the end of the next request of a client or a broker."""
        self.rpc.after_next_request(action)

    def _make_authorizer(self, settings: AuthorizerSettings) -> Authorizer:
        return Authorizer(settings, lambda: self.metadata_cache.image.acls)

    def _make_replica_manager(self) -> ReplicaManager:
        alter_partition = AlterPartitionManager(
            reactor=self.reactor,
            links=self.links,
            broker_id=self.id,
            broker_epoch=self._epoch,
            version=controller_version(self.release, ApiKey.ALTER_PARTITION),
        )
        return self.config.part_types.of(ReplicaManager)(
            broker_id=self.id,
            config=self.config,
            reactor=self.reactor,
            clock=self.clock,
            metadata_cache=self.metadata_cache,
            storage=self.storage,
            links=self.links,
            journal=self.journal,
            alter_partition=alter_partition,
        )

    # State.

    @property
    def alive(self) -> bool:
        """True while the broker's process runs."""
        return self.lifecycle.state is not BrokerState.NOT_RUNNING

    @property
    def broker_epoch(self) -> int:
        """The broker epoch of this incarnation, -1 before the registration."""
        return self.lifecycle.epoch

    @property
    def host(self) -> str:
        """The advertised host of the inter-broker listener."""
        return self._endpoint[0]

    @property
    def port(self) -> int:
        """The advertised port of the inter-broker listener; the system chooses it if it was 0."""
        return self._endpoint[1]

    @property
    def _endpoint(self) -> tuple[str, int]:
        endpoint = self.listeners.main.endpoint
        assert endpoint is not None, "the inter-broker listener is advertised"
        return endpoint

    @property
    def registered_listeners(self) -> Mapping[str, tuple[str, int]]:
        """The advertised address per listener; empty if PLAINTEXT is the only one."""
        return {} if self.listeners.is_default else self.listeners.endpoints

    @property
    def cordoned_log_dirs(self) -> tuple[bytes, ...]:
        """The ids of the log directories that receive no new replicas (KIP-1066)."""
        cordoned = self.storage.directories.cordoned
        return tuple(map(self.storage.directory_id, cordoned)) if cordoned else ()

    @property
    def features(self) -> tuple[FeatureRange, ...]:
        """The supported features that the broker registers."""
        supported = self.release.supported_features
        return tuple(FeatureRange(name, levels.lowest, levels.highest) for name, levels in supported.items())

    @property
    def online_log_dirs(self) -> tuple[bytes, ...]:
        """The ids of the log directories that have not failed."""
        directories = self.storage.directories
        return tuple(self.storage.directory_id(name) for name in directories.names if name not in directories.offline)

    @property
    def metadata_version(self) -> int:
        """The version of the newest image; it is applied, unless the broker is still catching up."""
        return (self._unpublished or self.metadata_cache.image).version

    @property
    def share_partitions(self) -> SharePartitionManager:
        """The share partitions of this incarnation; imported with the first share group, which few tests have."""
        if self._share_partitions is None:
            from broker_sim.share_partitions.share_partition_manager import SharePartitionManager

            self._share_partitions = SharePartitionManager(self)
            self.replica_manager.roles.leadership_listeners.append(self._share_partitions)
        return self._share_partitions

    @property
    def delayed_admin_operations(self) -> list[tuple[str, int]]:
        """Operations that wait for this broker's metadata: name and size of each purgatory. KRaft has none."""
        return []

    def scram_credential(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """Return the SCRAM credential of a user that the metadata has; None without one."""
        return self.metadata_cache.image.scram.credential(user, mechanism)

    def token_login(self, token_id: str, mechanism: ScramMechanism) -> TokenLogin | None:
        """Return the facts of a delegation token that the metadata has; None without one, or without a secret."""
        token, secret = self.metadata_cache.image.tokens.get(token_id), secret_of(self.config)
        if token is None or not secret:
            return None
        if self._token_credentials is None:
            self._token_credentials = TokenCredentials(self.random("token salts"))
        return self._token_credentials.login(token, secret, mechanism)

    def forward_to_controller(
        self, request: Any, *, timeout_ms: int, context: RequestContext | None = None
    ) -> Deferred[Any]:
        """Forward a client's request to the controller (KIP-590); fails with LinkFailure if it cannot be reached."""
        version = self.release.api_versions[request.API_KEY].highest if context is None else context.api_version
        forwarded = ForwardedRequest(request, api_version=version, context=context)
        sent = self.links.send(self.id, CONTROLLER_ID, forwarded, timeout_ms=timeout_ms)
        return sent.addCallback(ForwardedResponse.opened)

    # Start and stop.

    def listen(self) -> None:
        """Open the listeners. For port 0 the system chooses a port, which the broker keeps for all its incarnations."""
        if self._listens:
            self.socket_server = SocketServer(
                self,
                reactor=self.reactor,
                listeners=self.listeners,
                connection_faults=self._faults.connections,
                last_request_id=self._last_request_id,
            )
            apply_ip_rates(self.socket_server.connection_quotas, self.metadata_cache.image.client_quotas)
            self.socket_server.start()

    def adopt(self, image: MetadataImage) -> None:
        """Start without registration, as a broker that `image` has registered and unfenced; a new cluster starts so."""
        self._begin()
        self.links.attach(self.id, self.link_transport)
        epoch = image.brokers[self.id].epoch
        self.replica_manager.broker_epoch = epoch
        self.lifecycle.adopt(epoch)
        self._apply_image(image)
        self._loader.start(image, leader_epoch=FIRST_LEADER_EPOCH)

    def start(self) -> Deferred[None]:
        """Start the next incarnation; fires when the controller has unfenced the broker.

        Raises:
            BrokerSimError: The broker runs already.
        """
        if self.alive:
            msg = f"broker {self.id} runs already"
            raise BrokerSimError(msg)
        self.process_starts()
        self._boot_parts()
        self._begin()
        self._running = Deferred()
        running = self._running
        self.lifecycle.start()
        self._loader.start()
        return running

    def _begin(self) -> None:
        self.storage.open(self.now_ms())
        unflushed, self._unflushed = self._unflushed, None
        if unflushed is not None:
            unflushed.report_lost(self.journal, self.id, self.storage.logs)
        self.replica_manager.roles.start()
        self._log_manager.start()
        self.journal.append(BrokerStarted(time_us=self.journal.now_us(), broker_id=self.id))

    def hold_metadata(self) -> None:
        """Replay nothing of the metadata log until `resume_metadata`, also after a restart."""
        self.metadata_held = True
        self._loader.hold()

    def resume_metadata(self) -> None:
        """Replay the records that have arrived meanwhile, and continue."""
        self.metadata_held = False
        self._loader.resume()

    @property
    def paused(self) -> bool:
        """True from `pause` to `resume` or to the end of the process."""
        return self._pause is not None or getattr(self.reactor, "is_stopped", False)

    def pause(self) -> None:
        """Stop the process, as SIGSTOP does: sockets accept bytes, nothing responds. On real sockets see SocketPause.

        Raises:
            BrokerSimError: the broker is down.
        """
        # Imported with the first pause: a broker on real sockets needs no simulated network.
        from sim_runtime.virtual_host import HostReactor

        if not self.alive:
            raise BrokerSimError(f"broker {self.id} is down: nothing can be paused")
        if self.paused:
            return
        if isinstance(self.reactor, HostReactor):
            self.reactor.stop_process()
            for link in self._links_to_here():
                link.hold()
        else:
            from broker_sim.socket_pause import SocketPause

            self._pause = SocketPause(self.id, self.links, self._faults.connections, self.random("pause"))
        self.journal.append(BrokerPaused(time_us=self.journal.now_us(), broker_id=self.id))

    def resume(self) -> None:
        """Continue the process after `pause`: all that was due and all that has arrived is handled now."""
        if not self.paused:
            return
        self.journal.append(BrokerResumed(time_us=self.journal.now_us(), broker_id=self.id))
        reactor: Any = self.reactor
        if self._pause is None:
            reactor.continue_process()
            for link in self._links_to_here():
                link.release()
        self._end_pause()

    def _end_pause(self) -> None:
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.end()

    def _links_to_here(self) -> list[Link]:
        return [link for link in self.links.links_of(self.id) if link.target == self.id]

    def kill(self) -> None:
        """Crash: reset connections, cancel timers, keep the logs. Does nothing if the broker is dead."""
        if self.alive:
            if self._pause is None:
                self.resume()
            self._end(abort=True)
            self._end_pause()  # after the end: what it held dies with the process
            self.journal.append(BrokerKilled(time_us=self.journal.now_us(), broker_id=self.id))
            self.process_ended()

    async def stop(self) -> None:
        """Shut down in order: move leaderships, then close connections. Does nothing if the broker is dead."""
        if not self.alive:
            return
        lifecycle = self.lifecycle
        if self.config.controlled_shutdown_enable and self.broker_epoch != NO_EPOCH:
            await lifecycle.begin_controlled_shutdown()
        if self.lifecycle is not lifecycle or lifecycle.state is BrokerState.NOT_RUNNING:
            return  # a kill came first
        self._previous_epoch = self.broker_epoch
        self._end(abort=False)
        self.journal.append(BrokerStopped(time_us=self.journal.now_us(), broker_id=self.id))
        self.process_ended()

    def lose_power(self) -> None:
        """Crash with the machine: bytes that the disk has not flushed are lost, all or in part."""
        from broker_sim.power_loss import UnflushedTails

        self.kill()
        tails = UnflushedTails(self.storage.logs)
        self.storage.lose_power(self.random("loss of power"))
        self._unflushed = tails
        self.journal.append(PowerLost(time_us=self.journal.now_us(), broker_id=self.id))

    def close(self) -> None:
        """End the process because the cluster ends, without an event in the journal."""
        if self.alive:
            self.storage.close(self.now_ms(), clean_epoch=self.broker_epoch)
            self._end(abort=True)

    def _end(self, *, abort: bool) -> None:
        self.lifecycle.stop()
        self._loader.stop()
        self._log_manager.stop()
        self.coordinators.stop()
        if self._share_partitions is not None:
            self._share_partitions.stop()
        self.replica_manager.stop()
        self.log_dir_failures.stop()
        self.storage.close(self.now_ms(), clean_epoch=None if abort else self.broker_epoch)
        self.producer_ids.stop()
        server, self.socket_server = self.socket_server, None
        if server is not None:
            if abort:
                server.abort()
            else:
                server.stop()
            self._last_request_id = server.last_request_id
        self.links.detach(self.id)
        self.rpc.stop()
        self._running = None
        self._image_applied()

    # Callbacks of the parts.

    def registered(self, broker_epoch: int) -> None:
        """Keep the broker epoch that the controller assigned."""
        self.replica_manager.broker_epoch = broker_epoch

    def caught_up(self) -> None:
        """Take the roles of the metadata, which has the own registration now, and open links and listeners."""
        image, self._unpublished = self._unpublished, None
        assert image is not None, "the controller reports a version that this broker has fetched"
        self.links.attach(self.id, self.link_transport)
        self._publish(image)
        self.listen()

    def unfenced(self) -> None:
        """Complete the start: the controller has unfenced the broker."""
        running, self._running = self._running, None
        if running is not None:
            running.callback(None)

    def _apply_image(self, image: MetadataImage) -> None:
        if self.lifecycle.state is BrokerState.STARTING:
            # As BrokerServer, ignore the roles of a previous incarnation: a broker that restarts before its old session
            # has ended would otherwise continue as leader.
            self._unpublished = image
            self._image_applied()
        else:
            self._publish(image)

    def _publish(self, image: MetadataImage) -> None:
        old = self.metadata_cache.image
        self.metadata_cache.image = image
        self.dynamic_config.apply(image)
        if image.finalized_features is not old.finalized_features:
            self._features_changed(image)
        self.replica_manager.apply_image(old, image)
        self.coordinators.apply_image(old, image)
        if self._share_partitions is not None:
            self._share_partitions.apply_image(image)
        if image.client_quotas is not old.client_quotas:
            self.quotas.apply(image.client_quotas)
            if self.socket_server is not None:
                apply_ip_rates(self.socket_server.connection_quotas, image.client_quotas)
        self._image_applied()

    def _features_changed(self, image: MetadataImage) -> None:
        level = image.finalized_features.get(METADATA_VERSION, 0)
        name = protocol_release(self.release.name, level)
        if name != self.protocol.name:
            self.protocol = releases.get(name, self.release.mode)
            self.replica_manager.follower_versions = follower_versions(name)

    def _reconfigure(self, old: BrokerConfig, new: BrokerConfig) -> None:  # noqa: ARG002 - as every subscriber
        self.config = new
        self.replica_manager.config = new
        self.storage.reconfigure(new)
        if self.socket_server is not None:
            self.socket_server.reconfigure(new)
        self._log_manager.reconfigure(new)

    def _epoch(self) -> int:
        return self.lifecycle.epoch

    def peer_reset(self, node_id: int) -> None:
        """Handle the reset connection of a node that died."""
        self.replica_manager.roles.follower_gone(node_id)

    def control_request(self, request: Any, version: int) -> Any:
        """Raise an error: ApiVersions of a broker of the KRaft era does not list the API, and its gate refuses it."""
        msg = f"a broker of the KRaft era serves no {request.NAME} v{version}"
        raise BrokerSimError(msg)


def _nothing() -> None:
    """The default of a callback."""
