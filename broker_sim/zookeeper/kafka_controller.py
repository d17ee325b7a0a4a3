"""The controller of a broker in ZooKeeper mode: it decides, writes to ZooKeeper, and sends the result to brokers.

Mirrors KafkaController: one event at a time; active while it holds /controller. A succeeded controller continues until
a write fails or a broker responds with an error: brokers reject requests with an older controller epoch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker_sim.controller.reassignment import assignment_of
from broker_sim.security.delegation_token import CHECK_INTERVAL, secret_of
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.controller_channels import ControllerChannelManager
from broker_sim.zookeeper.controller_context import ControllerContext
from broker_sim.zookeeper.controller_events import ControllerEventManager
from broker_sim.zookeeper.controller_requests import ControllerRequests
from broker_sim.zookeeper.controller_store import ControllerStore
from broker_sim.zookeeper.leader_and_isr import ElectionStrategy
from broker_sim.zookeeper.messages import NO_CONTROLLER, Path, ZooKeeperError
from broker_sim.zookeeper.partition_state_machine import PartitionStateMachine
from broker_sim.zookeeper.reassignments import PartitionReassignments, target_of
from broker_sim.zookeeper.replica_state_machine import ReplicaStateMachine
from broker_sim.zookeeper.request_batch import ControllerBrokerRequestBatch
from broker_sim.zookeeper.states import PartitionState, ReplicaState
from broker_sim.zookeeper.topic_deletion import TopicDeletionManager
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leader_and_isr import LeaderAndIsrRequest
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_image import BrokerRegistration, MetadataImage
    from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
    from broker_sim.zookeeper.messages import ControllerInfo, Snapshot
    from broker_sim.zookeeper.zookeeper_behaviour import ZooKeeperBehaviour
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
    from sim_runtime.interfaces import IReactor

FIRST_REBALANCE_MS: Final = 5_000


class KafkaController:
    """`controller_id` and `is_active` are this broker's view; `context` is only valid while it is active."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: NodeLinks,
        broker_id: int,
        behaviour: ZooKeeperBehaviour,
        config: Callable[[], BrokerConfig],
        client: ZooKeeperClient,
    ) -> None:
        self.broker_id = broker_id
        self.controller_id = NO_CONTROLLER
        self.context = context = ControllerContext()
        self._behaviour = behaviour
        self._config = config
        self.events = ControllerEventManager(reactor=reactor, moved=self._controller_moved)
        self.store = store = ControllerStore(client, context)
        timeout_ms = config().values.get("controller.socket.timeout.ms", 30_000)
        assert isinstance(timeout_ms, int)
        self.channels = ControllerChannelManager(
            reactor=reactor, links=links, controller_id=broker_id, socket_timeout_ms=timeout_ms
        )
        self.batch = batch = ControllerBrokerRequestBatch(
            controller_id=broker_id,
            behaviour=behaviour,
            context=context,
            channels=self.channels,
            responded=self._responded,
        )
        self.replicas = ReplicaStateMachine(context=context, batch=batch, store=store)
        self.partitions = PartitionStateMachine(context=context, batch=batch, store=store, config=config)
        self.deletions = TopicDeletionManager(
            enabled=config().delete_topic_enable,
            context=context,
            store=store,
            replicas=self.replicas,
            partitions=self.partitions,
            send_update_metadata=self.send_update_metadata,
        )
        self.reassignments = PartitionReassignments(
            context=context,
            store=store,
            batch=batch,
            replicas=self.replicas,
            partitions=self.partitions,
            deletions=self.deletions,
            send_update_metadata=self.send_update_metadata,
        )
        self.requests = ControllerRequests(self, behaviour)
        interval_s = config()["leader.imbalance.check.interval.seconds"]
        assert isinstance(interval_s, int)
        self._rebalance = RepeatingCall(reactor, interval_s * 1000, self._rebalance_due)
        self._token_check: RepeatingCall | None = None
        if secret_of(config()):
            check_ms = config()[CHECK_INTERVAL]
            assert isinstance(check_ms, int)
            self._token_check = RepeatingCall(reactor, check_ms, self._tokens_due)

    @property
    def is_active(self) -> bool:
        """True if this broker is the controller as far as it knows."""
        return self.controller_id == self.broker_id

    # Start and end.

    def start(self) -> None:
        """Take part in the election."""
        self.events.enqueue("Startup", self._elect)

    def adopt(self, info: ControllerInfo, snapshot: Snapshot | None) -> None:
        """Start as part of a cluster that starts as a whole; the snapshot is for the controller alone."""
        self.controller_id = info.controller_id
        self.context.epoch = info.epoch
        if snapshot is not None:
            self._take_epoch(info)
            self._read(snapshot)
            context = self.context
            context.partition_states = dict.fromkeys(context.assignments, PartitionState.ONLINE)
            context.replica_states = {
                (each, replica): ReplicaState.ONLINE
                for each, assignment in context.assignments.items()
                for replica in assignment.replicas
            }
            self._start_tasks()
            if snapshot.deletions or snapshot.reassignments or snapshot.preferred_elections or context.reassigning:
                self.events.enqueue("Startup", self._if_active(partial(self._take_up, snapshot)))

    async def _take_up(self, snapshot: Snapshot) -> None:
        """Continue the unfinished work of an earlier cluster's controller."""
        await self.deletions.start(snapshot.deletions)
        await self.reassignments.take_from_zookeeper()
        await self.reassignments.resume(lambda _: True)
        await self.deletions.resume()
        await self._preferred_elections_wanted()

    def stop(self) -> None:
        """The process is gone."""
        self.events.stop()
        self._stop_work()

    def session_expired(self) -> None:
        """Resign: this broker is no longer the controller, and its queued events are void."""
        self.events.clear()
        self.controller_id = NO_CONTROLLER
        self._stop_work()

    def watch_fired(self, paths: Iterable[Path]) -> None:
        """Something has changed in ZooKeeper."""
        for path in paths:
            if path is Path.CONTROLLER:
                self.events.enqueue("ControllerChange", self._controller_changed)
            elif self.is_active and path in self._handlers:
                self.events.enqueue(path.name, self._if_active(self._handlers[path]))

    def configs_changed(self) -> None:
        """An unclean election may be allowed now. Mirrors TopicUncleanLeaderElectionEnable."""
        self.events.enqueue("UncleanLeaderElectionEnable", self._if_active(self.partitions.trigger_online))

    @property
    def _handlers(self) -> Mapping[Path, Callable[[], Any]]:
        return {
            Path.BROKER_IDS: self._brokers_changed,
            Path.TOPICS: self._topics_changed,
            Path.TOPIC_PARTITIONS: self._topics_changed,
            Path.DELETE_TOPICS: self._deletions_changed,
            Path.REASSIGN_PARTITIONS: self.reassignments.take_from_zookeeper,
            Path.PREFERRED_REPLICA_ELECTION: self._preferred_elections_wanted,
            Path.ISR_CHANGE_NOTIFICATION: self._isrs_changed,
            Path.LOG_DIR_EVENT_NOTIFICATION: self._log_dirs_failed,
        }

    def _if_active(self, handler: Callable[[], Any]) -> Callable[[], Any]:
        async def handle() -> None:
            if self.is_active:
                await handler()

        return handle

    # Elections of the controller.

    async def _elect(self) -> None:
        info = await self.store.elect()
        self.controller_id = info.controller_id
        if info.elected:
            self._take_epoch(info)
            await self._fail_over()

    async def _controller_changed(self) -> None:
        was_active = self.is_active
        info = await self.store.controller()
        self.controller_id = info.controller_id
        if was_active and not self.is_active:
            self._stop_work()
        if self.controller_id == NO_CONTROLLER:
            await self._elect()

    async def _controller_moved(self) -> None:
        """A write was refused because there is a newer controller."""
        self._stop_work()
        self.controller_id = NO_CONTROLLER
        try:
            self.controller_id = (await self.store.controller()).controller_id
        except ZooKeeperError:
            return  # the session has gone too, and brings an election of its own

    def _take_epoch(self, info: ControllerInfo) -> None:
        self.context.clear()
        self.context.epoch = info.epoch
        self.context.epoch_version = info.epoch_version if self._behaviour.writes_are_fenced else None

    async def _fail_over(self) -> None:
        """Read everything, then send the brokers the live brokers and their roles. Mirrors onControllerFailover."""
        snapshot = await self.store.watch_everything()
        self._read(snapshot)
        await self.deletions.start(snapshot.deletions)
        self.send_update_metadata(())
        await self.replicas.startup()
        await self.partitions.startup()
        await self.reassignments.take_from_zookeeper()
        await self.reassignments.resume(lambda _: True)
        await self.deletions.resume()
        await self._preferred_elections_wanted()
        self._start_tasks()

    def _read(self, snapshot: Snapshot) -> None:
        context = self.context
        for broker in snapshot.image.brokers.values():
            self._add_broker(broker)
        self._take_topics(snapshot.image)
        context.leadership.update(snapshot.states)
        context.reassigning = {each: None for each, known in context.assignments.items() if known.in_progress}

    def _take_topics(self, image: MetadataImage) -> list[TopicPartition]:
        """Add new topics and partitions, and return these."""
        context = self.context
        added = []
        for topic in image.topics.values():
            context.topic_ids[topic.name] = topic.topic_id
            for index, partition in enumerate(topic.partitions):
                each = TopicPartition(topic.name, index)
                if each not in context.assignments:
                    context.assignments[each] = assignment_of(partition)
                    added.append(each)
        return added

    def _stop_work(self) -> None:
        self._rebalance.stop()
        if self._token_check is not None:
            self._token_check.stop()
        self.batch.clear()
        self.channels.stop()

    # Brokers.

    def _add_broker(self, broker: BrokerRegistration) -> None:
        self.context.brokers[broker.id] = broker
        self.channels.add_broker(broker.id)

    def _remove_broker(self, broker_id: int) -> None:
        self.context.brokers.pop(broker_id, None)
        self.channels.remove_broker(broker_id)

    async def _brokers_changed(self) -> None:
        now = (await self.store.image()).brokers
        known = self.context.brokers
        new = [broker for broker in now.values() if broker.id not in known]
        dead = [broker_id for broker_id in known if broker_id not in now]
        bounced = [now[each.id] for each in known.values() if each.id in now and now[each.id].epoch > each.epoch]
        if new:
            for broker in new:
                self._add_broker(broker)
            await self._brokers_started([broker.id for broker in new])
        if bounced:
            for broker in bounced:
                self._remove_broker(broker.id)
            await self._brokers_failed([broker.id for broker in bounced])
            for broker in bounced:
                self._add_broker(broker)
            await self._brokers_started([broker.id for broker in bounced])
        if dead:
            for broker_id in dead:
                self._remove_broker(broker_id)
            await self._brokers_failed(dead)

    async def _brokers_started(self, broker_ids: Sequence[int]) -> None:
        context = self.context
        for replica in [each for each in context.offline_directories if each[1] in broker_ids]:
            del context.offline_directories[replica]
        self.batch.add_update_metadata([each for each in context.brokers if each not in broker_ids], ())
        self.batch.send()
        self.batch.add_update_metadata(broker_ids, context.with_leaders())
        self.batch.send()
        replicas = context.replicas_on(broker_ids)
        await self.replicas.handle(replicas, ReplicaState.ONLINE)
        await self.partitions.trigger_online()
        await self.reassignments.resume(lambda known: any(each in broker_ids for each in target_of(known)))
        await self.deletions.resume_for(dict.fromkeys(each.topic for each, _ in replicas))

    async def _brokers_failed(self, broker_ids: Sequence[int]) -> None:
        context = self.context
        for replica in [each for each in context.offline_directories if each[1] in broker_ids]:
            del context.offline_directories[replica]
        for broker_id in broker_ids:
            context.shutting_down.pop(broker_id, None)
        await self.replicas_offline(context.replicas_on(broker_ids))

    async def replicas_offline(self, replicas: Sequence[tuple[TopicPartition, int]]) -> None:
        """These replicas are not there any more. Mirrors onReplicasBecomeOffline."""
        context = self.context
        doomed = [each for each in replicas if each[0].topic in context.to_be_deleted]
        others = [each for each in replicas if each[0].topic not in context.to_be_deleted]
        await self.partitions.handle(context.with_offline_leader(), PartitionState.OFFLINE)
        elected = await self.partitions.trigger_online()
        await self.replicas.handle(others, ReplicaState.OFFLINE)
        await self.deletions.replicas_failed(doomed)
        if not others and not elected:
            self.send_update_metadata(())

    def send_update_metadata(self, partitions: Iterable[TopicPartition]) -> None:
        """Send every live broker the live brokers, and the state of these partitions."""
        self.batch.add_update_metadata(self.context.brokers, partitions)
        self.batch.send()

    # Topics.

    async def _topics_changed(self) -> None:
        context = self.context
        image = await self.store.image()
        for name in [name for name in context.topic_ids if name not in image.topics]:
            context.remove_topic(name)
        # Partitions that are added to a topic under deletion are not created; they are deleted with it.
        added = [each for each in self._take_topics(image) if each.topic not in context.to_be_deleted]
        await self.partitions.handle(added, PartitionState.NEW)
        replicas = [(each, replica) for each in added for replica in context.replicas(each)]
        await self.replicas.handle(replicas, ReplicaState.NEW)
        await self.partitions.handle(added, PartitionState.ONLINE)
        await self.replicas.handle(replicas, ReplicaState.ONLINE)

    async def _deletions_changed(self) -> None:
        await self.deletions.enqueue(await self.store.deletions())

    async def _isrs_changed(self) -> None:
        """Leaders have written ISRs themselves: send them to all brokers."""
        changed = await self.store.isr_changes()
        self.take_states(changed)
        if changed:
            self.send_update_metadata(changed)

    async def _log_dirs_failed(self) -> None:
        """Send the brokers all their replicas: they respond with an error for those that are gone."""
        brokers = await self.store.log_dir_failures()
        replicas = self.context.replicas_on(brokers)
        await self.replicas.handle([each for each in replicas if self.context.is_online(*each)], ReplicaState.ONLINE)

    def take_states(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Note states as they are in ZooKeeper, of partitions that are known."""
        for each, state in states.items():
            if each in self.context.assignments:
                self.context.leadership[each] = state

    # Preferred leaders.

    async def _preferred_elections_wanted(self) -> None:
        wanted = await self.store.preferred_elections()
        context = self.context
        await self.partitions.handle(
            [
                each
                for each in wanted
                if each in context.leadership
                and each.topic not in context.to_be_deleted
                and context.leadership[each].leader != context.replicas(each)[0]
            ],
            PartitionState.ONLINE,
            ElectionStrategy.PREFERRED,
        )

    def _start_tasks(self) -> None:
        if self._config().auto_leader_rebalance_enable and not self._rebalance.running:
            self._rebalance.start(initial_delay_ms=FIRST_REBALANCE_MS)
        if self._token_check is not None and not self._token_check.running:
            self._token_check.start()

    def _tokens_due(self) -> None:
        self.events.enqueue("DelegationTokens", self._if_active(self.store.remove_expired_tokens))

    def _rebalance_due(self) -> None:
        self.events.enqueue("AutoPreferredReplicaLeaderElection", self._if_active(self._rebalance_leaders))

    async def _rebalance_leaders(self) -> None:
        """Give partitions back to preferred leaders that miss more than leader.imbalance.per.broker.percentage."""
        context = self.context
        percentage = self._config()["leader.imbalance.per.broker.percentage"]
        assert isinstance(percentage, int)
        preferred: dict[int, list[TopicPartition]] = {}
        for each, assignment in context.assignments.items():
            if each.topic not in context.to_be_deleted:
                preferred.setdefault(assignment.replicas[0], []).append(each)
        for broker_id, partitions in preferred.items():
            missed = [
                each
                for each in partitions
                if each in context.leadership and context.leadership[each].leader != broker_id
            ]
            if len(missed) * 100 > percentage * len(partitions):
                able = [
                    each
                    for each in missed
                    if context.is_online(each, broker_id) and broker_id in context.leadership[each].isr
                ]
                await self.partitions.handle(able, PartitionState.ONLINE, ElectionStrategy.PREFERRED)

    # Responses of brokers.

    def _responded(self, broker_id: int, request: Any, response: Any) -> None:
        if isinstance(request, LeaderAndIsrRequest):
            failed = _storage_errors(request, response)
            if failed:
                self.events.enqueue("LeaderAndIsrResponseReceived", lambda: self._directories_failed(broker_id, failed))
            return
        deleted = _deleted_by(request)
        stopped = {
            each: ErrorCode(error.error_code)
            for error in response.partition_errors
            if (each := TopicPartition(error.topic_name, error.partition_index)) in deleted
            and each.topic in self.context.to_be_deleted
        }
        if stopped:
            self.events.enqueue(
                "TopicDeletionStopReplicaResponseReceived",
                lambda: self._replicas_stopped(broker_id, stopped, ErrorCode(response.error_code)),
            )

    async def _directories_failed(self, broker_id: int, partitions: Sequence[TopicPartition]) -> None:
        if self.is_active and broker_id in self.context.brokers:
            replicas = [(each, broker_id) for each in partitions]
            self.context.offline_directories.update(dict.fromkeys(replicas))
            await self.replicas_offline(replicas)

    async def _replicas_stopped(
        self, broker_id: int, stopped: Mapping[TopicPartition, ErrorCode], error: ErrorCode
    ) -> None:
        if not self.is_active:
            return
        started = [
            (each, broker_id)
            for each in stopped
            if self.context.replica_state((each, broker_id)) is ReplicaState.DELETION_STARTED
        ]
        failed = [replica for replica in started if error or stopped[replica[0]]]
        await self.deletions.replicas_failed(failed)
        await self.deletions.replicas_deleted([replica for replica in started if replica not in failed])


def _deleted_by(request: Any) -> dict[TopicPartition, None]:
    """Return the partitions that a StopReplica of any version deletes."""
    deleted = [
        TopicPartition(topic.topic_name, each.partition_index)
        for topic in request.topic_states
        for each in topic.partition_states
        if each.delete_partition
    ]
    if request.delete_partitions:
        deleted += [TopicPartition(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]
        deleted += [TopicPartition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    return dict.fromkeys(deleted)


def _storage_errors(request: LeaderAndIsrRequest, response: Any) -> list[TopicPartition]:
    names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
    errors = [
        (TopicPartition(each.topic_name, each.partition_index), each.error_code) for each in response.partition_errors
    ]
    errors += [
        (TopicPartition(names[topic.topic_id], each.partition_index), each.error_code)
        for topic in response.topics
        for each in topic.partition_errors
    ]
    return [each for each, error in errors if error == ErrorCode.KAFKA_STORAGE_ERROR]
