"""The controller: the one writer of the cluster's metadata, outside of the brokers. Mirrors QuorumController with
ReplicationControlManager and ClusterControlManager.

Every commit is a batch of records in `log`; each broker fetches the committed records over its own links, at its own
pace. A broker's epoch is the offset of its registration.

By itself it leads the log alone and never fails. As a voter of a quorum it sets `log.replicate`, reports commits to the
log, takes `image` from the log when its leadership begins or ends, and delays responses until the high watermark has
reached them: see group/quorum_controller.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from twisted.internet.defer import Deferred, succeed

from broker_sim.config.config_resource import CLUSTER_DEFAULT, ResourceType
from broker_sim.config.dynamic_broker_config import DynamicBrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.control.events import BrokerFenced, BrokerRegistered, BrokerUnfenced
from broker_sim.controller.alter_partition import serve_alter_partition
from broker_sim.controller.broker_registration import refuse_registration, registration_of
from broker_sim.controller.broker_sessions import BrokerControlState, BrokerSessions
from broker_sim.controller.directory_control import DirectoryControl
from broker_sim.controller.election import Election, ElectionRules, change_partition
from broker_sim.controller.periodic_tasks import PeriodicTasks
from broker_sim.controller.producer_ids import next_block
from broker_sim.errors import BrokerSimError
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.metadata.bootstrap_metadata import bootstrap_records, metadata_log_limits
from broker_sim.metadata.image_events import note_batch, note_changes
from broker_sim.metadata.metadata_fetches import MetadataFetch, MetadataFetches
from broker_sim.metadata.metadata_image import NO_LEADER, BrokerRegistration, MetadataImage, TopicImage
from broker_sim.metadata.metadata_log import FIRST_LEADER_EPOCH, MetadataLog
from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION, records_of_change
from broker_sim.quotas.controller_mutation_quotas import ControllerMutationQuotas
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from protocol_specs.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage, Voter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.controller.controls import ControllerControls
    from broker_sim.controller.producer_ids import ProducerIdsBlock
    from broker_sim.metadata.bootstrap_metadata import StorageFormat
    from broker_sim.metadata.metadata_image import ControllerRegistration, PartitionRegistration
    from broker_sim.metadata.metadata_log import MetadataBatch
    from broker_sim.metadata.metadata_record_versions import RecordVersions
    from protocol_specs.messages.fetch import FetchResponse
    from protocol_specs.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

NO_BROKER: Final = -1

T = TypeVar("T")


class Controller:
    """`image` is the newest committed metadata; `controls` are its managers, by group of APIs."""

    controls: ControllerControls

    def __init__(self, *, reactor: IReactor, journal: Journal, config: BrokerConfig, cluster_id: str) -> None:
        self._reactor = reactor
        self._journal = journal
        self._dynamic_config = DynamicBrokerConfig(config, None)
        self._dynamic_config.subscribe(self._reconfigure)
        self.log = MetadataLog(MetadataImage.empty(cluster_id), now_ms=self.now_ms, limits=metadata_log_limits(config))
        self.log.on_commit(self._committed)
        self._keeps_log = not config.behaviour.zookeeper
        self.image = self.log.image if self._keeps_log else self.log.image.with_version(0)
        self.directories = DirectoryControl(self)
        self._shrinks_safely = config.behaviour.reassignment_shrinks_safely
        self.mutation_quotas = ControllerMutationQuotas(
            config, now_us=journal.now_us, image=lambda: self.image.client_quotas
        )
        self._sessions = BrokerSessions(reactor, config.broker_session_timeout_ms, self._session_expired)
        self._fetches = MetadataFetches(
            self.log, cluster_id=cluster_id, leader_id=lambda: self.node_id, now_ms=self.now_ms
        )
        self.controllers_here: Sequence[ControllerRegistration] = ()
        """The registrations of the controllers when the cluster starts."""
        self.log_watchers: list[Callable[[], None]] = []
        """Callbacks that fire once, when the next records are published."""
        self._publish_call: IDelayedCall | None = None
        self._lingering: dict[IDelayedCall, None] = {}
        self._topic_configs: dict[tuple[tuple[str, str], ...], TopicConfig] = {}
        self._tasks = PeriodicTasks(reactor, self, config)
        self._tasks.start(config)

    def stop(self) -> None:
        """End all timers."""
        self._sessions.stop()
        self._tasks.stop()
        self._fetches.take_waiting()
        for call in self._lingering:
            call.cancel()
        self._lingering.clear()
        if self._publish_call is not None:
            self._publish_call.cancel()
            self._publish_call = None

    @property
    def node_id(self) -> int:
        """The node that leads the metadata log: the lowest of combined nodes."""
        return min(self.image.brokers, default=CONTROLLER_ID)

    @property
    def config(self) -> BrokerConfig:
        """The controller's file with the dynamic configurations of all brokers."""
        return self._dynamic_config.current

    @property
    def node_config(self) -> BrokerConfig:
        """As `config`, with the texts set for its own node and for all: topics that it creates show both unchanged.

        A controller accepts values that every broker rejects: it checks the names alone.
        """
        own = self.image.config_of(ResourceType.BROKER, str(self.node_id))
        defaults = self.image.config_of(ResourceType.BROKER, CLUSTER_DEFAULT)
        return self.config.with_texts(defaults, own) if own or defaults else self.config

    def use_release(self, config: BrokerConfig, streams: RandomStreams) -> None:
        """Decide as a controller of another release from now on."""
        self._dynamic_config = DynamicBrokerConfig(config, None)
        self._dynamic_config.subscribe(self._reconfigure)
        self._dynamic_config.apply(self.image)
        self._topic_configs.clear()
        self._shrinks_safely = config.behaviour.reassignment_shrinks_safely
        self.controls = self.controls.of(self, config=config, streams=streams, quorum=self.controls.quorum)

    def _reconfigure(self, old: BrokerConfig, new: BrokerConfig) -> None:  # noqa: ARG002 - as every subscriber
        self._topic_configs.clear()

    @property
    def committed_image(self) -> MetadataImage:
        """The newest image that all may see."""
        return self.image

    # The log.

    @property
    def metadata_log(self) -> MetadataLog:
        """The log, to be looked at: `records()` are its records with their offsets."""
        return self.log

    # Changes.

    def change(self, reason: str, change: Callable[[MetadataImage], MetadataImage]) -> Deferred[MetadataImage]:
        """Commit the image that `change` returns; `reason` names the change in errors. Fires when committed.

        Raises:
            BrokerSimError: The change names a topic or broker that does not exist.
        """
        try:
            self._commit(change(self.image))
        except KeyError as missing:
            msg = f"{reason}: the metadata has no {missing}"
            raise BrokerSimError(msg) from missing
        return succeed(self.image)

    def change_partitions(
        self, changes: Mapping[TopicPartition, PartitionRegistration], unclean: Iterable[TopicPartition] = ()
    ) -> None:
        """Commit partitions in place of those that are there; `unclean` names those that got a leader uncleanly."""
        if changes:
            self._commit(self.image.with_partitions(changes), unclean)

    def _commit(self, image: MetadataImage, unclean: Iterable[TopicPartition] = ()) -> None:
        old = self.image
        if image is old:
            return
        if self._keeps_log:
            records = records_of_change(old, image)
            if not records:
                return
            self.log.append(records, image)
            self.image = self.log.image
        else:
            self.image = image.with_version(old.version + 1)
            self._publish_soon()
        self._dynamic_config.apply(self.image)
        note_changes(self._journal, old, self.image, frozenset(unclean))

    def _committed(self, batch: MetadataBatch) -> None:
        if self._journal.full:
            note_batch(self._journal, batch)
        self._publish_soon()

    def _publish_soon(self) -> None:
        # One hop for all commits of this loop iteration: brokers see them together, and no caller is re-entered.
        if self._publish_call is None:
            self._publish_call = self._reactor.callLater(0, self._publish)

    def _publish(self) -> None:
        self._publish_call = None
        self._fetches.publish()
        if self.log_watchers:
            watchers, self.log_watchers = self.log_watchers, []
            for watcher in watchers:
                watcher()

    def begin_epoch(self, epoch: int) -> None:
        """Lead in a higher epoch, as a sole voter does that has started, or has learned of another leader."""
        voters = [Voter(voter_id=broker_id) for broker_id in self.image.brokers]
        change = LeaderChangeMessage(leader_id=self.node_id, voters=voters, granting_voters=voters)
        self.log.append_leader_change(epoch, change)
        self.image = self.log.image

    def bootstrap(
        self, brokers: Sequence[BrokerRegistration], topics: Sequence[TopicImage], storage: StorageFormat
    ) -> None:
        """Begin a new cluster's log, its brokers registered and unfenced: how a cluster starts in no time."""
        voters = [Voter(voter_id=broker.id) for broker in brokers]
        leader_id = min(broker.id for broker in brokers)
        self.log.append_leader_change(
            FIRST_LEADER_EPOCH, LeaderChangeMessage(leader_id=leader_id, voters=voters, granting_voters=voters)
        )
        records, image = bootstrap_records(self.log.image, self.config, storage)
        if records:  # releases before 3.3 have neither features nor configurations to begin with
            self.log.append(records, image)
        self._admit(brokers, topics)

    def _admit(self, brokers: Sequence[BrokerRegistration], topics: Sequence[TopicImage]) -> None:
        """Register and unfence `brokers` and create the topics; any other registered broker is fenced."""
        self.image = self.log.image
        self._dynamic_config.apply(self.image)
        here = [broker.id for broker in brokers]
        for broker in self.image.brokers.values():
            if broker.id not in here and not broker.fenced:
                self._commit(self.image.with_broker(replace(broker, fenced=True)))
        self.register_controllers()
        for broker in brokers:
            epoch = self.log.end_offset
            self._commit(self.image.with_broker(replace(broker, epoch=epoch, fenced=True)))
            self._sessions.register(broker.id, epoch)
        unfenced = self.image
        cordoned = () if self._record_versions.has_cordoned_directories else None
        for broker_id in here:
            broker = unfenced.brokers[broker_id]
            unfenced = unfenced.with_broker(replace(broker, fenced=False, cordoned_log_dirs=cordoned))
        self._commit(unfenced)
        if topics:
            self._commit(self.image.with_topics(topics))

    def register_controllers(self) -> None:
        """Store the listeners and the features of the controllers that start now (KIP-919)."""
        if self._record_versions.has_controllers:
            for controller in self.controllers_here:
                self._commit(self.image.with_controller(controller))

    # Requests.

    @property
    def is_active(self) -> bool:
        """True if this controller decides; a single controller always does."""
        return True

    def append_write_event(self, operation: Callable[[], T]) -> T | Deferred[T]:
        """Run an operation and return its result when what it has changed is committed. Mirrors
        QuorumController.appendWriteEvent.

        Raises:
            NotActive: Another controller decides; the Deferred fails with it when one does meanwhile.
        """
        return operation()

    def fetch_metadata(self, request: MetadataFetch) -> FetchResponse | Deferred[FetchResponse]:
        """Read the metadata log for a broker."""
        # All commits of this loop iteration are published in the next: brokers see them together.
        return self._fetches.fetch(request, may_respond=self._publish_call is None)

    def fetch_snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        """Read a part of the newest snapshot of the metadata log."""
        return self._fetches.fetch_snapshot(request)

    def peer_reset(self, node_id: int) -> None:
        """A broker's connection is reset; its session only ends when its heartbeats fail to come."""
        self._fetches.forget(node_id)

    def allocate_block(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
        """Allocate a block of producer ids to a broker."""
        if self._is_stale(request.broker_id, request.broker_epoch):
            return AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        first, size = self.allocate_producer_ids(request.broker_id)
        return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=size)

    def allocate_producer_ids(self, broker_id: int) -> ProducerIdsBlock:
        """The next block of producer ids; none is handed out twice."""
        block, producer_ids = next_block(self.image, broker_id)
        self._commit(replace(self.image, producer_ids=producer_ids))
        return block

    def now_ms(self) -> int:
        """The controller's clock, which never errs."""
        return self._journal.now_us() // 1000

    def metadata_progress(self, broker_id: int, now_ms: int) -> tuple[int, int]:
        """The end of a broker's metadata log, and when it was seen last: now, while its fetch waits."""
        return self._fetches.progress(broker_id, now_ms)

    def forget_sessions(self) -> None:
        """Lose the sessions of all brokers, which are not fenced then: a run of a controller ends."""
        self._sessions.stop()

    def unregister_broker(self, broker_id: int) -> bool:
        """Unregister a broker, alive or not; False when it is not registered. Mirrors ReplicationControlManager."""
        if broker_id not in self.image.brokers:
            return False
        image, unclean = self._without(self.image, broker_id)
        self._sessions.end(broker_id)
        self._commit(image.without_broker(broker_id), unclean)
        return True

    def alter_partition(
        self, request: AlterPartitionRequest
    ) -> AlterPartitionResponse | Deferred[AlterPartitionResponse]:
        """Change ISRs as leaders propose it (KIP-497)."""
        requested = [(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions]
        if not any(self._is_reassigning(topic_id, index) for topic_id, index in requested):
            return self._serve_alter_partition(request)
        # Kafka's controller gathers its records for a while. Here it does so for the end of a reassignment alone:
        # a client that lists reassignments right after having started one finds it in progress.
        linger_ms = self.config["controller.quorum.append.linger.ms"]
        assert isinstance(linger_ms, int)
        response: Deferred[AlterPartitionResponse] = Deferred()

        def due() -> None:
            del self._lingering[call]
            response.callback(self._serve_alter_partition(request))

        call = self._reactor.callLater(linger_ms / 1000, due)
        self._lingering[call] = None
        return response

    def _is_reassigning(self, topic_id: bytes, index: int) -> bool:
        topic = self.image.topics_by_id.get(topic_id)
        return topic is not None and 0 <= index < len(topic.partitions) and topic.partitions[index].is_reassigning

    def _serve_alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        if self._is_stale(request.broker_id, request.broker_epoch):
            return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        changes, response = serve_alter_partition(self.image, request, self.election_rules)
        if changes:
            self._commit(self.image.with_partitions(changes))
        return response

    # Brokers.

    def _is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is None or broker.epoch != broker_epoch

    def process_registration(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        """Register a run of a broker, fenced until it has caught up."""
        broker_id = request.broker_id
        refused = refuse_registration(self.image, request, has_valid_session=self._has_valid_session(broker_id))
        if refused:
            return BrokerRegistrationResponse(error_code=refused)
        known = self.image.brokers.get(broker_id)
        self.log.write_no_ops()
        registration = registration_of(self.image, request, epoch=self.log.end_offset)
        image = self.image
        unclean: list[TopicPartition] = []
        restarted = known is not None and registration.epoch != known.epoch
        if self.image.elr_enabled and known is not None and restarted and request.previous_broker_epoch != known.epoch:
            # An unclean shutdown cannot be excluded: unflushed records may be lost (KIP-966).
            image, unclean = self._without(image, broker_id, unclean_shutdown=True)
        image = image.with_broker(registration)
        self._sessions.register(broker_id, registration.epoch)
        self._commit(self.directories.found_again(image, broker_id, registration.log_dirs), unclean)
        epoch, time_us = registration.epoch, self._journal.now_us()
        self._journal.append(BrokerRegistered(time_us=time_us, broker_id=broker_id, broker_epoch=epoch))
        return BrokerRegistrationResponse(error_code=ErrorCode.NONE, broker_epoch=epoch)

    def _has_valid_session(self, broker_id: int) -> bool:
        """Return True if no other process can take this broker's id yet."""
        known = self.image.brokers.get(broker_id)
        if known is None or not known.fenced:
            return self._sessions.is_valid(broker_id)
        return self.config.behaviour.fenced_brokers_have_sessions and self._sessions.has_session(broker_id)

    def heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        """Renew a broker's session, and fence, unfence or release it."""
        broker_id = request.broker_id
        if self._is_stale(broker_id, request.broker_epoch):
            return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        broker = self.image.brokers[broker_id]
        if request.offline_log_dirs:
            self.directories.went_offline(broker_id, tuple(request.offline_log_dirs))
            broker = self.image.brokers[broker_id]
        state = self._sessions.next_state(
            broker,
            request,
            has_leaderships=lambda: self._leads_something(broker_id),
            active=self.image.is_active,
        )
        if state is BrokerControlState.UNFENCED and broker.fenced:
            self._unfence(broker)
        elif state is BrokerControlState.CONTROLLED_SHUTDOWN and not broker.in_controlled_shutdown:
            self._begin_controlled_shutdown(broker)
        elif state in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW) and not broker.fenced:
            self._fence(broker)
        self._take_cordoned(broker_id, request.cordoned_log_dirs)
        if state is BrokerControlState.SHUTDOWN_NOW:
            self._sessions.end(broker_id)
        else:
            self._sessions.touch(broker_id, request.current_metadata_offset)
        return BrokerHeartbeatResponse(
            error_code=ErrorCode.NONE,
            is_caught_up=request.current_metadata_offset >= broker.epoch,
            is_fenced=state in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW),
            should_shut_down=state is BrokerControlState.SHUTDOWN_NOW,
        )

    def _take_cordoned(self, broker_id: int, directories: Sequence[bytes] | None) -> None:
        """Take the cordoned directories from a heartbeat of a release that has them (KIP-1066)."""
        broker = self.image.brokers[broker_id]
        if directories is None or not self._record_versions.has_cordoned_directories:
            return
        cordoned = tuple(map(bytes, directories))
        if cordoned != broker.cordoned_log_dirs:
            self._commit(self.image.with_broker(replace(broker, cordoned_log_dirs=cordoned)))

    @property
    def _record_versions(self) -> RecordVersions:
        return record_versions(self.image.finalized_features.get(METADATA_VERSION, 0))

    def _session_expired(self, broker_id: int) -> None:
        broker = self.image.brokers.get(broker_id)
        if broker is not None and not broker.fenced:
            self._fence(broker)

    def _fence(self, broker: BrokerRegistration) -> None:
        image, unclean = self._without(self.image, broker.id)
        self._commit(image.with_broker(replace(broker, fenced=True)), unclean)
        time_us = self._journal.now_us()
        self._journal.append(BrokerFenced(time_us=time_us, broker_id=broker.id, broker_epoch=broker.epoch))

    def _unfence(self, broker: BrokerRegistration) -> None:
        image = self.image.with_broker(replace(broker, fenced=False))
        leaderless = {
            topic_partition: registration.isr
            for topic_partition, registration in _partitions(image)
            if registration.leader == NO_LEADER
        }
        time_us = self._journal.now_us()
        self._journal.append(BrokerUnfenced(time_us=time_us, broker_id=broker.id, broker_epoch=broker.epoch))
        self._commit(*self._elect(image, leaderless))

    def _begin_controlled_shutdown(self, broker: BrokerRegistration) -> None:
        image, unclean = self._without(self.image, broker.id)
        self._commit(image.with_broker(replace(broker, in_controlled_shutdown=True)), unclean)
        self._sessions.begin_controlled_shutdown(broker.id, self.image.version)

    def take_replicas(self, lost: Mapping[TopicPartition, PartitionRegistration], broker: BrokerRegistration) -> None:
        """Commit partitions that have lost a broker's replica, which leaves ISR and leadership, and the broker so."""
        image = self.image.with_broker(broker).with_partitions(lost)
        targets = {
            each: tuple(replica for replica in registration.isr if replica != broker.id)
            for each, registration in lost.items()
        }
        image, unclean = self._elect(image, targets)
        # A replica outside of the ISR changes nothing but itself: that is a change of the partition too.
        apart = {
            each: replace(registration, partition_epoch=registration.partition_epoch + 1)
            for each, before in lost.items()
            if (registration := image.topics[each.topic].partitions[each.partition]) is before
        }
        self._commit(image.with_partitions(apart) if apart else image, unclean)

    def _leads_something(self, broker_id: int) -> bool:
        return any(registration.leader == broker_id for _, registration in _partitions(self.image))

    # Elections.

    def elect_preferred_leaders(self) -> None:
        """Give every partition back to the first of its replicas that is in sync (auto.leader.rebalance.enable)."""
        imbalanced = {
            topic_partition: registration.isr
            for topic_partition, registration in _partitions(self.image)
            if registration.leader not in (NO_LEADER, registration.preferred_leader)
            and registration.preferred_leader in registration.isr
        }
        if imbalanced:
            self._commit(*self._elect(self.image, imbalanced, election=Election.PREFERRED))

    def elect_unclean_leaders(self) -> None:
        """Give every partition without a leader one that is alive, where its topic allows it by now."""
        leaderless = {
            topic_partition: registration.isr
            for topic_partition, registration in _partitions(self.image)
            if registration.leader == NO_LEADER and self._elects_uncleanly(self.image.topics[topic_partition.topic])
        }
        if leaderless:
            self._commit(*self._elect(self.image, leaderless))

    def _elects_uncleanly(self, topic: TopicImage) -> bool:
        """Mirrors ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic."""
        obeys = self.config.behaviour.kraft_elects_uncleanly
        return obeys and self.topic_config(topic).unclean_leader_election_enable

    def topic_config(self, topic: TopicImage) -> TopicConfig:
        """The topic's configuration as the controller resolves it."""
        key = tuple(sorted(topic.configs.items()))
        config = self._topic_configs.get(key)
        if config is None:
            config = self._topic_configs[key] = TopicConfig.resolve(topic.configs, self.config)
        return config

    def _without(
        self, image: MetadataImage, broker_id: int, *, unclean_shutdown: bool = False
    ) -> tuple[MetadataImage, list[TopicPartition]]:
        """Return the image without a broker in any ISR and leadership, and the partitions with an unclean election."""
        targets = {
            topic_partition: tuple(replica for replica in registration.isr if replica != broker_id)
            for topic_partition, registration in _partitions(image)
            if broker_id in registration.isr or (unclean_shutdown and broker_id in registration.elr)
        }
        lost = (broker_id,) if unclean_shutdown else ()
        return self._elect(image, targets, removed=broker_id, unclean_shutdown=lost)

    def _elect(
        self,
        image: MetadataImage,
        targets: dict[TopicPartition, tuple[int, ...]],
        *,
        removed: int = NO_BROKER,
        election: Election | None = None,
        unclean_shutdown: tuple[int, ...] = (),
    ) -> tuple[MetadataImage, list[TopicPartition]]:
        """Change the ISR of many partitions in one step; return also those with an unclean election."""
        changes: dict[TopicPartition, PartitionRegistration] = {}
        unclean = []
        for topic_partition, target_isr in targets.items():
            topic = image.topics[topic_partition.topic]
            change = change_partition(
                topic.partitions[topic_partition.partition],
                target_isr=target_isr,
                rules=self.election_rules(image, topic_partition, removed=removed, election=election),
                unclean_shutdown=unclean_shutdown,
            )
            if change is not None:
                changes[topic_partition] = change.registration
                if change.unclean:
                    unclean.append(topic_partition)
        return (image.with_partitions(changes) if changes else image), unclean

    def election_rules(
        self,
        image: MetadataImage,
        topic_partition: TopicPartition,
        *,
        removed: int = NO_BROKER,
        election: Election | None = None,
    ) -> ElectionRules:
        """Return the rules of a partition's elections; by default ONLINE, or UNCLEAN where the topic allows it."""
        topic = image.topics[topic_partition.topic]
        if election is None:
            election = Election.UNCLEAN if self._elects_uncleanly(topic) else Election.ONLINE
        replicas = topic.partitions[topic_partition.partition].replicas
        lost = topic.partitions[topic_partition.partition].lost_replicas
        return ElectionRules(
            election=election,
            is_acceptable=lambda replica: replica != removed and image.is_active(replica) and replica not in lost,
            min_isr=min(self.topic_config(topic).min_insync_replicas, len(replicas)),
            elr_enabled=self.image.elr_enabled,
            shrinks_safely=self._shrinks_safely,
        )


def _partitions(image: MetadataImage) -> Iterable[tuple[TopicPartition, PartitionRegistration]]:
    for name, topic in image.topics.items():
        for index, registration in enumerate(topic.partitions):
            yield TopicPartition(name, index), registration
