"""ZooKeeper as a Kafka cluster sees it: one consistent store with sessions and watches, at a node of its own.

The content of the znodes is kept as the cluster's metadata image: broker ids (ephemeral), topics with their assignments
and partition states, configurations. Mirrors the tree of ZkData. It is the `cluster.controller` of such clusters,
because metadata is committed here; the decisions are those of the broker that is KafkaController. `change` is the
interface of an operator's tools that write to ZooKeeper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, succeed

from broker_sim.control.events import BrokerRegistered, ControllerElected, ZooKeeperSessionExpired
from broker_sim.controller.controller import Controller
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.image_events import note_changes
from broker_sim.metadata.metadata_image import NO_LEADER, BrokerRegistration
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.acl_store import AclStore
from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
from broker_sim.zookeeper.messages import (
    NO_CONTROLLER,
    ZOOKEEPER_ID,
    Code,
    ControllerInfo,
    Path,
    Snapshot,
    ZooKeeperError,
    ZooKeeperRequest,
    ZooKeeperResponse,
)
from broker_sim.zookeeper.sessions import NO_SESSION, Session, Sessions
from broker_sim.zookeeper.znodes import Znode
from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour, id_of_name
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.broker import Broker
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.controller.client_quota_control import ClientQuotaControl
    from broker_sim.controller.config_control import ConfigControl
    from broker_sim.controller.reassignment import Assignment
    from broker_sim.controller.token_control import TokenControl
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.bootstrap_metadata import StorageFormat
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
    from broker_sim.zookeeper.acl_znodes import ResourcePattern, VersionedAcls
    from sim_runtime.interfaces import IReactor

NO_STATE: Final = -1
"""The version of a partition state that is not written yet."""
BLOCK_SIZE: Final = 1000
"""The producer ids that a broker takes at a time. Mirrors ProducerIdsBlock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """The content of persistent znodes; `decided_in` is the controller epoch of each partition state."""

    image: MetadataImage
    controller_epoch: int
    controller_epoch_version: int
    deletions: tuple[str, ...]
    reassignments: Mapping[TopicPartition, tuple[int, ...]]
    preferred_elections: tuple[TopicPartition, ...]
    next_producer_id: int
    consumer_offsets: Mapping[str, Znode]
    acls: Mapping[ResourcePattern, VersionedAcls]
    decided_in: Callable[[TopicPartition], int]


class ZooKeeper(Controller):
    """`image` is the present content of the store; `controller_id` is the holder of /controller, -1 for none."""

    node_id: Final = ZOOKEEPER_ID
    make_broker: Callable[..., Broker]
    """Creates a broker that uses this ensemble."""
    configs: ConfigControl
    client_quotas: ClientQuotaControl
    tokens: TokenControl

    def __init__(
        self, *, reactor: IReactor, links: NodeLinks, journal: Journal, config: BrokerConfig, cluster_id: str
    ) -> None:
        super().__init__(reactor=reactor, journal=journal, config=config, cluster_id=cluster_id)
        super().stop()  # the periodic work of a KRaft controller is the KafkaController's here
        self.image = self.image.with_finalized_features({})
        self._behaviour = ZooKeeperBehaviour.of(config.release_table)
        timeout_ms = config["zookeeper.session.timeout.ms"]
        assert isinstance(timeout_ms, int)
        self.session_timeout_ms = timeout_ms
        self.sessions = Sessions(reactor=reactor, links=links, timeout_ms=timeout_ms, expired=self._session_ended)
        self.controller_id = NO_CONTROLLER
        self.controller_epoch = 0
        self.controller_epoch_version = 0
        self._controller_session: Session | None = None
        self._registered: dict[int, Session] = {}
        self._decided_in: dict[TopicPartition, int] = {}
        self._deletions: dict[str, None] = {}
        self._isr_changes: dict[TopicPartition, None] = {}
        self._log_dir_failures: dict[int, None] = {}
        self._reassignments: dict[TopicPartition, tuple[int, ...]] = {}
        self._preferred_elections: dict[TopicPartition, None] = {}
        self._next_producer_id = 0
        self._consumer_offsets: dict[str, Znode] = {}
        self.acls = AclStore(
            now_us=journal.now_us,
            changed=self._changed,
            notify=lambda: self.sessions.fire(Path.ACL_CHANGES),
        )
        self._waiters: list[tuple[Callable[[], bool], Deferred[MetadataImage]]] = []
        self.changed: Callable[[], None] = _no_listener
        """Called when the result of `stored_state` has changed."""

    def stop(self) -> None:
        """End all timers."""
        super().stop()
        self.sessions.stop()
        self._waiters.clear()

    def bootstrap(
        self,
        brokers: Sequence[BrokerRegistration],
        topics: Sequence[TopicImage],
        storage: StorageFormat,
    ) -> None:
        """Commit a whole cluster at once: its brokers registered, the first of them controller, topics with leaders."""
        version = self.image.version + 1
        image = self.image.with_topics([self._identified(topic) for topic in topics])
        if self.controller_epoch == 0:  # a new cluster
            image = replace(image, scram=image.scram.with_changes(storage.credentials))
        for broker in brokers:
            image = image.with_broker(replace(broker, epoch=version, fenced=False))
            session = self.sessions.open(broker.id, broker.id)
            session.broker_epoch = version
            self._registered[broker.id] = session
            if self.controller_id == NO_CONTROLLER:
                self._make_controller(session)
        self._decided_in = dict.fromkeys(
            (TopicPartition(topic.name, index) for topic in topics for index in range(len(topic.partitions))),
            self.controller_epoch,
        )
        self._commit(image)

    # Persistent state.

    def stored_state(self) -> StoredState:
        """Return the content of all persistent znodes."""
        return StoredState(
            image=self.image,
            controller_epoch=self.controller_epoch,
            controller_epoch_version=self.controller_epoch_version,
            deletions=tuple(self._deletions),
            reassignments=dict(self._reassignments),
            preferred_elections=tuple(self._preferred_elections),
            next_producer_id=self._next_producer_id,
            consumer_offsets=dict(self._consumer_offsets),
            acls=self.acls.acls,
            decided_in=lambda each: self._decided_in.get(each, self.controller_epoch),
        )

    def restore(
        self,
        image: MetadataImage,
        *,
        controller_epoch: int,
        controller_epoch_version: int,
        deletions: Iterable[str],
        reassignments: Mapping[TopicPartition, tuple[int, ...]],
        preferred_elections: Iterable[TopicPartition],
        next_producer_id: int,
        consumer_offsets: Mapping[str, Znode],
        acls: Mapping[ResourcePattern, VersionedAcls],
    ) -> None:
        """Load the state of an earlier cluster, before `bootstrap` adds brokers and topics."""
        self.image = image
        self._dynamic_config.apply(image)
        self.controller_epoch = controller_epoch
        self.controller_epoch_version = controller_epoch_version
        self._deletions = dict.fromkeys(deletions)
        self._reassignments = dict(reassignments)
        self._preferred_elections = dict.fromkeys(preferred_elections)
        self._next_producer_id = next_producer_id
        self._consumer_offsets = dict(consumer_offsets)
        self.acls.restore(acls)

    def adopted_controller(self) -> ControllerInfo:
        """The controller of a cluster that starts as a whole."""
        return self._controller_info(elected=False)

    def adopted_snapshot(self, broker_id: int) -> Snapshot | None:
        """Return the state that the controller of a cluster reads when it starts as a whole; None for other brokers."""
        session = self._controller_session
        assert session is not None, "a cluster that starts as a whole has a controller"
        return self.watch_as_controller(session) if session.broker_id == broker_id else None

    @property
    def active_controller(self) -> int | None:
        """The broker that holds /controller; None for no broker."""
        return None if self.controller_id == NO_CONTROLLER else self.controller_id

    # Requests.

    def serve(self, request: Any, source: int) -> Any:
        """Serve a request of a broker's process.

        Raises:
            BrokerSimError: ZooKeeper does not serve the request.
        """
        if request.API_KEY == AllocateProducerIdsResponse.API_KEY:
            return self._allocate_producer_ids()
        if not isinstance(request, ZooKeeperRequest):
            msg = f"ZooKeeper does not serve {type(request).__name__} from broker {source}"
            raise BrokerSimError(msg)
        known = request.session_id
        session = self.sessions.open(source) if known == NO_SESSION else self.sessions.renew(known)
        if session is None:
            return ZooKeeperResponse(code=Code.SESSION_EXPIRED)
        try:
            return ZooKeeperResponse(value=request.operation(self, session))
        except ZooKeeperError as error:
            return ZooKeeperResponse(code=error.code)

    def register_broker(self, session: Session, broker: BrokerRegistration) -> int:
        """Create the ephemeral node of a broker id; its czxid is the broker's epoch.

        Raises:
            ZooKeeperError: Another session holds the broker id (NODE_EXISTS).
        """
        holder = self._registered.get(broker.id)
        if holder is session:
            return session.broker_epoch
        if holder is not None:
            raise ZooKeeperError(Code.NODE_EXISTS)
        self._registered[broker.id] = session
        epoch = session.broker_epoch = self.image.version + 1
        self._commit(self.image.with_broker(replace(broker, epoch=epoch, fenced=False)))
        now_us = self._journal.now_us()
        self._journal.append(BrokerRegistered(time_us=now_us, broker_id=broker.id, broker_epoch=epoch))
        self.sessions.fire(Path.BROKER_IDS)
        return epoch

    def elect_controller(self, session: Session) -> ControllerInfo:
        """Create the ephemeral /controller if there is none; the first caller holds it, in a new epoch."""
        elected = self._controller_session is None
        if elected:
            self._make_controller(session)
            self.sessions.fire(Path.CONTROLLER)
        return self._controller_info(elected=elected)

    def controller_info(self, _: Session) -> ControllerInfo:
        """Return the controller."""
        return self._controller_info(elected=False)

    def resign(self, session: Session) -> None:
        """Give up /controller."""
        if self._controller_session is session:
            self._lose_controller()

    def watch_as_controller(self, session: Session) -> Snapshot:
        """Set the watches of a controller, and read everything."""
        session.watch(Path)
        self._isr_changes.clear()
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        """Return the state that a controller reads at its failover."""
        every = (
            TopicPartition(topic.name, index)
            for topic in self.image.topics.values()
            for index in range(len(topic.partitions))
        )
        states = {each: state for each in every if (state := self.state_of(each)) is not None}
        return Snapshot(
            image=self.image,
            states=states,
            deletions=tuple(self._deletions),
            reassignments=dict(self._reassignments),
            preferred_elections=tuple(self._preferred_elections),
        )

    def state_of(self, topic_partition: TopicPartition) -> LeaderAndIsr | None:
        """A partition's state, None while it has none."""
        partition = self.image.partition(*topic_partition)
        if partition is None or partition.partition_epoch == NO_STATE:
            return None
        return LeaderAndIsr(
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            isr=partition.isr,
            zk_version=partition.partition_epoch,
            controller_epoch=self._decided_in[topic_partition],
        )

    def states_of(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LeaderAndIsr]:
        """The states of those that have one."""
        return {each: state for each in partitions if (state := self.state_of(each)) is not None}

    def write_states(
        self,
        states: Mapping[TopicPartition, LeaderAndIsr],
        *,
        epoch_version: int | None,
        unclean: Iterable[TopicPartition] = (),
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Write each state whose version is the one before; return the written ones, with their versions.

        A state of version -1 is new. `epoch_version` is that of a controller, whose writes fail once it is succeeded.
        """
        self._check_controller(epoch_version)
        written: dict[TopicPartition, LeaderAndIsr] = {}
        changes: dict[TopicPartition, PartitionRegistration] = {}
        for topic_partition, state in states.items():
            partition = self.image.partition(*topic_partition)
            if partition is None:
                continue
            current = self.state_of(topic_partition)
            if current is not None and current.is_equivalent(state):
                written[topic_partition] = current  # the response to the same write was lost
            elif state.zk_version == partition.partition_epoch:
                written[topic_partition] = replace(state, zk_version=state.zk_version + 1)
                self._decided_in[topic_partition] = state.controller_epoch
                changes[topic_partition] = replace(
                    partition,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr=state.isr,
                    partition_epoch=state.zk_version + 1,
                )
        if changes:
            self._commit(self.image.with_partitions(changes), unclean)
            if any(self._reassigns(each) for each in changes):
                self.sessions.fire(Path.REASSIGN_PARTITIONS)
        return written

    def write_assignments(self, assignments: Mapping[TopicPartition, Assignment], *, epoch_version: int | None) -> None:
        """Write which replicas existing partitions have."""
        self._check_controller(epoch_version)
        changes = {}
        for topic_partition, assignment in assignments.items():
            partition = self.image.partition(*topic_partition)
            if partition is not None:
                changes[topic_partition] = replace(
                    partition,
                    replicas=assignment.replicas,
                    adding_replicas=assignment.adding,
                    removing_replicas=assignment.removing,
                )
        if changes:
            self._commit(self.image.with_partitions(changes))

    def remove_topic(self, name: str, *, epoch_version: int | None) -> None:
        """Remove a topic that was deleted everywhere, and the request to delete it."""
        self._check_controller(epoch_version)
        topic = self.image.topics.get(name)
        self._deletions.pop(name, None)
        self.changed()
        if topic is not None:
            for index in range(len(topic.partitions)):
                self._decided_in.pop(TopicPartition(name, index), None)
            self._commit(self.image.without_topics([name]))
            self.sessions.fire(Path.TOPICS)

    def note_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        """Note the ISRs that a leader has written. Mirrors propagateIsrChanges."""
        self._isr_changes.update(dict.fromkeys(partitions))
        self.sessions.fire(Path.ISR_CHANGE_NOTIFICATION)

    def take_isr_changes(self) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the reported ISRs, with the states as they are now, and remove them."""
        changed, self._isr_changes = self._isr_changes, {}
        return self.states_of(changed)

    def note_log_dir_failure(self, session: Session) -> None:
        """Note that a log directory of a broker has failed; the report does not name the directory (KIP-112)."""
        self._log_dir_failures[session.broker_id] = None
        self.sessions.fire(Path.LOG_DIR_EVENT_NOTIFICATION)

    def take_log_dir_failures(self) -> tuple[int, ...]:
        """Return the brokers that have reported a failed directory, and remove them."""
        failures, self._log_dir_failures = self._log_dir_failures, {}
        return tuple(failures)

    # The offsets of groups.

    def write_consumer_offset(self, path: str, offset: int) -> None:
        """Set the offset that a group has committed, and make its znode with the first one."""
        known = self._consumer_offsets.get(path)
        self._consumer_offsets[path] = Znode(str(offset), 0 if known is None else known.version + 1)
        self.changed()

    def consumer_offset(self, path: str) -> int | None:
        """Return a committed offset; None for an unknown path."""
        known = self._consumer_offsets.get(path)
        return None if known is None else int(known.data)

    # The admin nodes.

    def request_deletion(self, names: Iterable[str]) -> None:
        """Make /admin/delete_topics/<name>: the controller sees to the rest."""
        self._deletions.update(dict.fromkeys(names))
        self.changed()
        self.sessions.fire(Path.DELETE_TOPICS)

    def forget_deletions(self, names: Iterable[str], *, epoch_version: int | None) -> None:
        """Withdraw requests that cannot be fulfilled."""
        self._check_controller(epoch_version)
        for name in names:
            self._deletions.pop(name, None)
        self.changed()

    def deletions(self) -> tuple[str, ...]:
        """The topics that shall be deleted."""
        return tuple(self._deletions)

    def request_reassignment(self, reassignments: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Write /admin/reassign_partitions, as kafka-reassign-partitions did before 2.4 (KIP-455)."""
        self._reassignments.update({key: tuple(replicas) for key, replicas in reassignments.items()})
        self.changed()
        self.sessions.fire(Path.REASSIGN_PARTITIONS)

    def reassignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The reassignments that a tool has written, and that have not ended."""
        return dict(self._reassignments)

    def forget_reassignments(self, partitions: Iterable[TopicPartition], *, epoch_version: int | None) -> None:
        """Take them out: they have ended, or cannot be."""
        self._check_controller(epoch_version)
        for topic_partition in partitions:
            self._reassignments.pop(topic_partition, None)
        self.changed()

    def request_preferred_election(self, partitions: Iterable[TopicPartition]) -> None:
        """Write /admin/preferred_replica_election, as kafka-preferred-replica-election did before 2.4."""
        self._preferred_elections.update(dict.fromkeys(partitions))
        self.changed()
        self.sessions.fire(Path.PREFERRED_REPLICA_ELECTION)

    def take_preferred_elections(self) -> tuple[TopicPartition, ...]:
        """Return the elections that a tool has requested, and remove them."""
        wanted, self._preferred_elections = self._preferred_elections, {}
        self.changed()
        return tuple(wanted)

    # Changes from outside.

    def change(self, reason: str, change: Callable[[MetadataImage], MetadataImage]) -> Deferred[MetadataImage]:
        """Write the change that a tool requests as an image; fires when the controller has done its part.

        A topic that is new gets its replicas alone: the controller elects. One that is missing is marked for deletion.
        """
        try:
            wanted = change(self.image)
        except KeyError as missing:
            msg = f"{reason}: the metadata has no {missing}"
            raise BrokerSimError(msg) from missing
        old = self.image.topics
        gone = [name for name in old if name not in wanted.topics]
        if gone and not self.config.delete_topic_enable:
            msg = f"{reason}: delete.topic.enable is false, so that no controller deletes what is marked for it"
            raise BrokerSimError(msg)
        created = [self._identified(_without_states(topic)) for name, topic in wanted.topics.items() if name not in old]
        grown = [
            _without_states(topic, len(old[name].partitions))
            for name, topic in wanted.topics.items()
            if name in old and len(topic.partitions) > len(old[name].partitions)
        ]
        kept = [topic for name, topic in wanted.topics.items() if name in old and topic not in grown]
        image = replace(wanted, topics=self.image.topics, topics_by_id=self.image.topics_by_id)
        configs_change = image != self.image or any(old[topic.name].configs != topic.configs for topic in kept)
        self._commit(image.with_topics([*kept, *grown, *created]))
        if configs_change:
            self.sessions.fire(Path.CONFIG_CHANGES)
        if created:
            self.sessions.fire(Path.TOPICS)
        if grown:
            self.sessions.fire(Path.TOPIC_PARTITIONS)
        if gone:
            self.request_deletion(gone)
        awaited = [topic.name for topic in (*created, *grown)]

        def done() -> bool:
            topics = self.image.topics
            return not any(name in topics for name in gone) and all(
                name not in topics or all(each.partition_epoch != NO_STATE for each in topics[name].partitions)
                for name in awaited
            )

        if done():
            return succeed(self.image)
        waiting: Deferred[MetadataImage] = Deferred()
        self._waiters.append((done, waiting))
        return waiting

    # Helpers.

    def _changed(self) -> None:
        self.changed()

    def _identified(self, topic: TopicImage) -> TopicImage:
        return topic if self._behaviour.topic_ids else replace(topic, topic_id=id_of_name(topic.name))

    def _commit(self, image: MetadataImage, unclean: Iterable[TopicPartition] = ()) -> None:
        """Replace the znode tree; ZooKeeper mode keeps no metadata log."""
        old = self.image
        if image is old:
            return
        self.image = image.with_version(old.version + 1)
        self._dynamic_config.apply(self.image)
        self.changed()
        note_changes(self._journal, old, self.image, frozenset(unclean))
        ready = [entry for entry in self._waiters if entry[0]()]
        self._waiters = [entry for entry in self._waiters if entry not in ready]
        for _, waiting in ready:
            self._reactor.callLater(0, waiting.callback, self.image)

    def _allocate_producer_ids(self) -> AllocateProducerIdsResponse:
        """The next block of /latest_producer_id_block."""
        first, self._next_producer_id = self._next_producer_id, self._next_producer_id + BLOCK_SIZE
        self.changed()
        return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)

    def _reassigns(self, topic_partition: TopicPartition) -> bool:
        partition = self.image.partition(*topic_partition)
        return topic_partition in self._reassignments or (partition is not None and partition.is_reassigning)

    def _check_controller(self, epoch_version: int | None) -> None:
        if epoch_version is not None and epoch_version != self.controller_epoch_version:
            raise ZooKeeperError(Code.CONTROLLER_MOVED)

    def _controller_info(self, *, elected: bool) -> ControllerInfo:
        return ControllerInfo(
            controller_id=self.controller_id,
            epoch=self.controller_epoch,
            epoch_version=self.controller_epoch_version,
            elected=elected,
        )

    def _make_controller(self, session: Session) -> None:
        self._controller_session = session
        self.controller_id = session.broker_id
        self.controller_epoch += 1
        self.controller_epoch_version += 1
        self.changed()
        self._journal.append(
            ControllerElected(
                time_us=self._journal.now_us(), broker_id=session.broker_id, controller_epoch=self.controller_epoch
            )
        )

    def _lose_controller(self) -> None:
        self._controller_session = None
        self.controller_id = NO_CONTROLLER
        self.sessions.fire(Path.CONTROLLER)

    def _session_ended(self, session: Session) -> None:
        self._journal.append(ZooKeeperSessionExpired(time_us=self._journal.now_us(), broker_id=session.broker_id))
        if self._registered.get(session.broker_id) is session:
            del self._registered[session.broker_id]
            self._commit(self.image.without_broker(session.broker_id))
            self.sessions.fire(Path.BROKER_IDS)
        if self._controller_session is session:
            self._lose_controller()


def _no_listener() -> None:
    """The store is in memory, and ends with the cluster."""


def _without_states(topic: TopicImage, first: int = 0) -> TopicImage:
    """Return the topic as a tool writes it: its partitions from `first` on have replicas alone."""
    bare = [
        replace(each, isr=(), leader=NO_LEADER, leader_epoch=-1, partition_epoch=NO_STATE)
        for each in topic.partitions[first:]
    ]
    return replace(topic, partitions=(*topic.partitions[:first], *bare))
