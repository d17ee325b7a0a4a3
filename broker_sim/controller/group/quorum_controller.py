"""A controller that is one of several: active while it leads the quorum, else it only follows. Mirrors QuorumController
with its QuorumMetaLogListener and deferred events.

While it is active its `image` is ahead of the committed records. No other node sees that: brokers fetch the committed
image, and a response waits until every record that it may depend on is committed. When another controller leads, it
drops its uncommitted records, and the callers that wait for a response get an error that makes them find the leader.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import Deferred

from broker_sim.controller.controller import Controller
from broker_sim.controller.errors import NotActive
from broker_sim.controller.group.committed_events import note_brokers
from broker_sim.errors import BrokerSimError, NotThere
from broker_sim.metadata.image_events import note_changes
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_log import MetadataBatch, MetadataSnapshot, SnapshotId
from broker_sim.metadata.metadata_records import records_of_change
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from twisted.python.failure import Failure

    from broker_sim.controller.group.controller_node import ControllerNode
    from broker_sim.metadata.bootstrap_metadata import StorageFormat
    from broker_sim.metadata.metadata_image import BrokerRegistration, TopicImage
    from broker_sim.quorum.raft_log import RaftBatch
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from protocol_specs.schemas.leader_change_message import LeaderChangeMessage

__all__ = ["QuorumController"]

T = TypeVar("T")


class QuorumController(Controller):
    """The state machine of one node's process; `node` is the voter that it belongs to."""

    def __init__(self, node: ControllerNode, **parts: Any) -> None:
        super().__init__(**parts)
        self._node = node
        self._active_epoch: int | None = None
        self._writing = False
        self._resuming = False
        """True while it reads the records of an earlier cluster, which were published there."""
        self._verbs: dict[Deferred[MetadataImage], str] = {}
        """The verbs of the cluster that wait for their commit, with their reasons."""
        self._deferred: deque[tuple[int, Deferred[Any], Any]] = deque()
        self._unclean: dict[int, frozenset[TopicPartition]] = {}
        self.log.snapshot_made = self._snapshot_made
        self._tasks.stop()

    @property
    def is_active(self) -> bool:
        """True if it decides."""
        return self._active_epoch is not None

    @property
    def committed_image(self) -> MetadataImage:
        """The image that a majority has."""
        return self.log.committed_image

    @property
    def node_id(self) -> int:
        """The node that it runs on."""
        return self._node.id

    @property
    def node(self) -> ControllerNode:
        """The voter that it belongs to."""
        return self._node

    # Leading and following.

    def activate(self, epoch: int, leader_change: LeaderChangeMessage, epoch_start_offset: int) -> None:
        """Decide from now on. Every broker gets a fresh session: the time of its last heartbeat is unknown here."""
        if self.log.end_offset <= epoch_start_offset:
            self.log.append_leader_change(epoch, leader_change)
        self._active_epoch = epoch
        self._take_image()
        for broker in self.image.brokers.values():
            self._sessions.register(broker.id, broker.epoch)
        self._tasks.start(self.config)

    def deactivate(self) -> None:
        """Drop the uncommitted records, and fail the operations that wait for them."""
        self._active_epoch = None
        self._unclean.clear()
        self.log.resign()
        self.log.truncate_to(self.log.high_watermark)
        self._take_image()
        fetches: list[Deferred[Any]] = [*self._fetches.take_waiting()]
        super().stop()
        deferred, self._deferred = self._deferred, deque()
        for waiting in [*fetches, *(each for _, each, _ in deferred)]:
            waiting.errback(NotActive())

    def stop(self) -> None:
        """End the process: no pending request gets a response, and the verbs that wait fail."""
        self._active_epoch = None
        self._deferred.clear()
        super().stop()
        verbs, self._verbs = self._verbs, {}
        for verb, reason in verbs.items():
            verb.errback(NotThere(f"{reason}: the active controller has ended before this was committed"))

    def _take_image(self) -> None:
        self.image = self.log.image
        self._dynamic_config.apply(self.image)

    # The log.

    def bootstrap(
        self, brokers: Sequence[BrokerRegistration], topics: Sequence[TopicImage], storage: StorageFormat
    ) -> None:
        """Begin a new cluster's log on all voters at once, with this one as the leader.

        If voters have a log already, the newest one continues in a new epoch, as if they had elected this voter.
        """
        group = self._node.group
        left = group.newest_log()
        if left:
            batches = [*self._resume(left, brokers, topics)]
        else:
            super().bootstrap(brokers, topics, storage)
            batches = [*self.log.batches]
            assert batches[0].control is not None, "a log begins with a leader change"
            batches[0].control = group.first_leader_change()
        self._active_epoch = self.log.leader_epoch
        group.adopt(batches)
        self.log.replicate = self._replicate

    def _resume(
        self, left: Sequence[RaftBatch], brokers: Sequence[BrokerRegistration], topics: Sequence[TopicImage]
    ) -> Iterator[MetadataBatch]:
        """Yield the batches of an existing log, then those of a new leader at which all brokers register at once."""
        group = self._node.group
        self._resuming = True
        for batch in left:
            resumed = self._metadata_batch(batch)
            self.log.append_replicated(resumed)
            self.log.advance_high_watermark(resumed.last_offset + 1)
            yield resumed
        self._resuming = False
        end = self.log.end_offset
        self.log.append_leader_change(group.next_epoch(), group.first_leader_change())
        self._admit(brokers, topics)
        yield from (batch for batch in self.log.batches if batch.base_offset >= end)

    def load_snapshot(self, snapshot: RaftSnapshot) -> None:
        """Replace the log with a snapshot."""
        from broker_sim.metadata.metadata_log_codec import image_of_snapshot

        data = snapshot.encode()
        snapshot_id = SnapshotId(snapshot.id.offset, snapshot.id.epoch)
        empty = MetadataImage.empty(self.image.cluster_id)
        image = image_of_snapshot(data, empty, end_offset=snapshot.id.offset)
        self.log.load(MetadataSnapshot(id=snapshot_id, image=image, append_time_ms=self.now_ms(), encoded=data))
        self._take_image()

    def _snapshot_made(self, snapshot: MetadataSnapshot) -> None:
        kept = RaftSnapshot(id=OffsetAndEpoch(*snapshot.id), encode=snapshot.encode)
        self._node.storage.log.keep_snapshot(kept, start_offset=self.log.start_offset)

    def follow(self, batches: Sequence[MetadataBatch]) -> None:
        """Take a log that is committed as a whole."""
        self.log.replicate = self._replicate
        for batch in batches:
            self.log.append_replicated(batch)
        self.log.advance_high_watermark(self.log.end_offset)
        self._take_image()

    def apply_committed(self, batches: Sequence[RaftBatch]) -> None:
        """A majority has these batches; those of its own are in the log already."""
        for batch in batches:
            if batch.base_offset >= self.log.end_offset:
                self.log.append_replicated(self._metadata_batch(batch))
            self.log.advance_high_watermark(batch.last_offset + 1)
        if self.is_active:
            self._complete_committed()
        else:
            self._take_image()

    def _metadata_batch(self, batch: RaftBatch) -> MetadataBatch:
        if not batch.is_control:
            assert isinstance(batch.content, MetadataBatch), "controllers replicate batches of metadata"
            return batch.content
        return MetadataBatch(
            base_offset=batch.base_offset,
            leader_epoch=batch.epoch,
            append_time_ms=batch.control_ms or 0,
            control=batch.content,
            image=self.log.image.with_version(batch.base_offset),
        )

    def _replicate(self, batch: MetadataBatch) -> None:
        if batch.control is None:  # the voter has written that itself
            self._node.append(batch, records=len(batch.records))

    def _commit(self, image: MetadataImage, unclean: Iterable[TopicPartition] = ()) -> None:
        old = self.image
        records = [] if image is old else records_of_change(old, image)
        if records:
            batch = self.log.append(records, image)
            elected = frozenset(unclean)
            if elected:
                self._unclean[batch.base_offset] = elected
            self._take_image()
            if self.log.replicate is None:
                note_changes(self._journal, old, self.image, elected)

    def _committed(self, batch: MetadataBatch) -> None:
        if self._resuming:
            return
        group = self._node.group
        if self.log.replicate is None:
            group.published_offset = batch.last_offset + 1
            super()._committed(batch)
        elif batch.base_offset >= group.published_offset:
            # The first node that sees the commit records the events: that is the leader, as long as it lives.
            group.published_offset = batch.last_offset + 1
            old, group.published_image = group.published_image, self.log.committed_image
            note_changes(self._journal, old, group.published_image, self._unclean.pop(batch.base_offset, frozenset()))
            note_brokers(group.journal, old, group.published_image)
            super()._committed(batch)
        elif self.is_active:
            self._publish_soon()

    # Requests.

    def append_write_event(self, operation: Callable[[], T]) -> T | Deferred[T]:
        """Run an operation; its result is returned when it can no longer be taken back.

        Raises:
            NotActive: Another controller decides.
        """
        if self._writing:
            return operation()
        if not self.is_active:
            raise NotActive
        self._writing = True
        try:
            result = operation()
        finally:
            self._writing = False
        if not isinstance(result, Deferred):
            return self._when_committed(result)
        return result.addCallback(self._when_committed)

    def _when_committed(self, result: T) -> T | Deferred[T]:
        if not self.is_active:
            raise NotActive
        end = self.log.end_offset
        if self.log.high_watermark >= end:
            return result
        committed: Deferred[T] = Deferred()
        self._deferred.append((end, committed, result))
        return committed

    def _complete_committed(self) -> None:
        while self._deferred and self._deferred[0][0] <= self.log.high_watermark:
            _, committed, result = self._deferred.popleft()
            committed.callback(result)

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Change ISRs: the quorum's linger is enough."""
        return self._serve_alter_partition(request)

    def change(self, reason: str, change: Any) -> Deferred[MetadataImage]:
        """Change the image; fires when the change is committed.

        It fails when this controller ends, or another one becomes active before.

        Raises:
            BrokerSimError: This controller is not active.
        """
        if self._writing:
            return super().change(reason, change)  # it is the operation that waits
        if not self.is_active:
            raise NotThere(f"{reason}: there is no active controller")

        def not_active(failure: Failure) -> MetadataImage:
            failure.trap(NotActive)
            raise BrokerSimError(f"{reason}: another controller is active before this was committed")

        committed: Deferred[MetadataImage] = super().change(reason, change).addCallback(self._when_committed)
        committed.addErrback(not_active)
        verb: Deferred[MetadataImage] = Deferred()
        self._verbs[verb] = reason

        def finish(result: MetadataImage | Failure) -> None:
            if self._verbs.pop(verb, None) is not None:
                verb.callback(result)  # a Failure is an errback

        committed.addBoth(finish)
        return verb
