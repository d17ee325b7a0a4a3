"""One partition on one broker: its role, log, followers and waiting operations. Mirrors Partition."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.control.events import HighWatermarkAdvanced
from broker_sim.log.replica_log import AppendOrigin, OffsetOutOfRange, RecordsRefused
from broker_sim.metadata.metadata_image import NO_LEADER
from broker_sim.replication.isr import (
    ANY_BROKER_EPOCH,
    FollowerState,
    IsrState,
    committed,
    expanding,
    shrinking,
)
from broker_sim.replication.isr_proposals import IsrProposal
from broker_sim.replication.requests import NO_EPOCH, EpochEndOffset, FetchIsolation
from broker_sim.replication.truncation_events import note_truncation
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from broker_sim.control.journal import Journal
    from broker_sim.log.append_results import PartitionAppend
    from broker_sim.log.replica_log import ReplicaLog, StoredBatch, TruncationInfo
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration
    from broker_sim.metrics.broker_topic_stats import BrokerTopicStats
    from broker_sim.replication.alter_partition_manager import IsrManager
    from broker_sim.replication.delayed_delete_records import DelayedDeleteRecords
    from broker_sim.replication.delayed_fetch import DelayedFetch
    from broker_sim.replication.delayed_produce import DelayedProduce
    from broker_sim.replication.isr_proposals import AlteredPartition
    from broker_sim.replication.replica_fetch_session import SessionPartition
    from broker_sim.replication.requests import PartitionFetch
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.lone_batch import RecordSet

_NOT_RETRIED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""The proposal stays pending: newer metadata will replace it."""
_NONE: Final = ErrorCode.NONE


class PartitionHost(Protocol):
    """The parts of its broker that a partition uses."""

    broker_id: int
    broker_epoch: int
    journal: Journal
    alter_partition: IsrManager
    replica_lag_time_max_ms: int
    high_watermark_waits_for_min_isr: bool
    min_isr_within_replicas: bool
    topic_stats: BrokerTopicStats

    def now_ms(self) -> int:
        """The broker's clock."""

    @property
    def image(self) -> MetadataImage:
        """The metadata that the broker has applied."""

    def wake_fetch(self, operation: DelayedFetch) -> None:
        """Complete a parked fetch soon."""


class Partition:
    """Leader, follower, or neither (no leader is known); `log` is the broker's replica."""

    __slots__ = (
        "_delayed_produces",
        "_host",
        "_journal",
        "delayed_deletes",
        "delayed_fetches",
        "followers",
        "high_watermark_listeners",
        "isr_state",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "log",
        "partition_epoch",
        "replicas",
        "sessions",
        "topic_id",
        "topic_partition",
        "topic_stats",
    )

    def __init__(self, topic_partition: TopicPartition, topic_id: bytes, log: ReplicaLog, host: PartitionHost) -> None:
        self._host = host
        self._journal = host.journal
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.topic_stats = host.topic_stats.of(topic_partition.topic)
        self.log = log
        self.replicas: tuple[int, ...] = ()
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leader_epoch_start_offset: int | None = None
        self.isr_state: IsrState = committed(())
        self.followers: dict[int, FollowerState] = {}
        self.delayed_deletes: dict[DelayedDeleteRecords, None] = {}
        self.delayed_fetches: dict[DelayedFetch, None] = {}
        self.sessions: dict[int, SessionPartition] = {}
        """The partition in the fetch sessions of its followers, by follower."""
        self.high_watermark_listeners: list[Callable[[int], None]] = []
        """Called with the high watermark of a leader when it moves. Mirrors PartitionListener."""
        self._delayed_produces: deque[tuple[int, DelayedProduce, int]] = deque()

    @property
    def is_leader(self) -> bool:
        """True if this broker leads the partition by its own metadata."""
        return self.leader_id == self._host.broker_id

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed ISR; empty on a follower, as in Kafka."""
        return self.isr_state.isr

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, since 3.7 at most the number of replicas: the least ISR for acks=all (KIP-966)."""
        configured = self.log.config.min_insync_replicas
        return min(configured, len(self.followers) + 1) if self._host.min_isr_within_replicas else configured

    def _is_below_min_isr(self, in_sync: int) -> bool:
        # Mostly there are as many as configured, and nothing else has to be looked at for a batch.
        return in_sync < self.log.config.min_insync_replicas and in_sync < self.effective_min_isr

    # Roles.

    def make_leader(self, registration: PartitionRegistration) -> bool:
        """Lead with the committed registration; return True if this broker did not lead before."""
        if registration.partition_epoch <= self.partition_epoch:
            return False
        new_leader = not self.is_leader
        now_ms = self._host.now_ms()
        self.replicas = registration.replicas
        self._update_followers(registration)
        self.isr_state = committed(registration.isr)
        new_epoch = registration.leader_epoch > self.leader_epoch
        if new_epoch:
            start_offset = self.log.log_end_offset
            self.log.epochs.assign(registration.leader_epoch, start_offset)
            for follower in self.followers.values():
                follower.reset(
                    now_ms=now_ms,
                    leader_end_offset=start_offset,
                    new_leader=new_leader,
                    in_sync=follower.broker_id in registration.isr,
                )
            self.leader_epoch_start_offset = start_offset
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.leader_id = self._host.broker_id
        if new_epoch:
            self.role_changed(ErrorCode.NOT_LEADER_OR_FOLLOWER if new_leader else None)
        self._followers_outside(registration.isr)
        self.maybe_increment_high_watermark(now_ms)
        return new_leader

    def _followers_outside(self, isr: Collection[int]) -> None:
        """Let the next fetches of the followers that a committed ISR does not have bring them back."""
        for follower_id, fetched in self.sessions.items():
            if follower_id not in isr:
                fetched.session.left_isr(fetched)

    def make_follower(self, registration: PartitionRegistration) -> bool:
        """Follow `registration.leader`, which may be none; return True if the leader epoch is new."""
        if registration.partition_epoch <= self.partition_epoch:
            return False
        new_epoch = registration.leader_epoch > self.leader_epoch
        self.replicas = registration.replicas
        self.leader_id = registration.leader
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.leader_epoch_start_offset = None
        self.followers.clear()
        self.isr_state = committed(())
        if new_epoch:
            self.role_changed(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return new_epoch

    def role_changed(self, produce_error: ErrorCode | None) -> None:
        """Check all operations that wait for the partition; Produce requests that wait fail with `produce_error`."""
        if produce_error is not None:
            waiting, self._delayed_produces = self._delayed_produces, deque()
            for _, operation, index in waiting:
                if not operation.completed:
                    operation.partition_done(index, produce_error)
        self.check_deletes()
        for fetch in list(self.delayed_fetches):
            self._host.wake_fetch(fetch)
        for fetched in list(self.sessions.values()):
            fetched.session.respond_soon(fetched)

    def _update_followers(self, registration: PartitionRegistration) -> None:
        local = self._host.broker_id
        known = self.followers
        self.followers = {
            replica: known.get(replica) or FollowerState(replica)
            for replica in registration.replicas
            if replica != local
        }

    # Appending.

    def append_records_to_leader(
        self,
        records: RecordSet,
        required_acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        transaction_version: int = 0,
        guard: object | None = None,
    ) -> PartitionAppend:
        """Append one record set, with the transaction version of a marker or the guard of a verification.

        Raises:
            RecordsRefused: This broker may not append, or the log does not take the records.
        """
        host = self._host
        if self.leader_id != host.broker_id:
            raise self._not_leader()
        log = self.log
        if required_acks == -1 and self._is_below_min_isr(len(self.isr_state.isr)):
            reason = f"the ISR {self.isr_state.isr} of {self.topic_partition} is below {self.effective_min_isr}"
            raise RecordsRefused(ErrorCode.NOT_ENOUGH_REPLICAS, reason)
        now_ms = host.now_ms()
        old_end = log.log_end_offset
        result = log.append_as_leader(
            records, self.leader_epoch, now_ms, origin, transaction_version=transaction_version, guard=guard
        )
        if log.log_end_offset != old_end:
            if self.sessions:
                self._wake_sessions(old_end, now_ms)
            if not self.maybe_increment_high_watermark(now_ms) and self.delayed_fetches:
                self.check_fetches()
        return result

    def _not_leader(self) -> RecordsRefused:
        reason = f"broker {self._host.broker_id} does not lead {self.topic_partition}"
        return RecordsRefused(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason, log_start_offset_known=False)

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool
    ) -> object | None:
        """Return the guard for a batch that begins a transaction, None if the transaction is open (KIP-890).

        `supports_epoch_bump` is true for a transaction of version 2.

        Raises:
            RecordsRefused: This broker does not lead the partition, or the epoch is old.
        """
        if not self.is_leader:
            raise self._not_leader()
        return self.log.producers.start_verification(
            producer_id, producer_epoch, sequence, supports_epoch_bump=supports_epoch_bump, now_ms=self._host.now_ms()
        )

    def _wake_sessions(self, old_end: int, now_ms: int) -> None:
        for follower_id, fetched in self.sessions.items():
            follower = self.followers.get(follower_id)
            session = fetched.session
            if follower is not None and follower.log_end_offset == old_end and session.parked:
                # A parked fetch stands for the fetches that Kafka would repeat every replica.fetch.wait.max.ms.
                follower.last_caught_up_ms = now_ms
            session.appended(fetched)

    def await_high_watermark(self, required_offset: int, operation: DelayedProduce, index: int) -> None:
        """Notify `operation` when the high watermark has reached `required_offset`."""
        waiting, later = self._delayed_produces, []
        if waiting and waiting[-1][0] > required_offset:
            # A duplicate waits for its original's offset, which lies before those of later batches.
            later = [entry for entry in waiting if entry[0] > required_offset]
            for _ in later:
                waiting.pop()
        waiting.append((required_offset, operation, index))
        waiting.extend(later)

    def enough_replicas_reached(self, required_offset: int) -> ErrorCode | None:
        """Return the result of a Produce with acks=all, None while it waits. Mirrors checkEnoughReplicasReachOffset."""
        if self.leader_id != self._host.broker_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        if self._is_below_min_isr(len(self.isr_state.maximal_isr)):
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return _NONE

    def append_as_follower(
        self, batches: list[StoredBatch], leader_high_watermark: int, leader_log_start_offset: int = 0
    ) -> None:
        """Append the leader's batches; adopt its high watermark, up to the end of this log, and its log start."""
        log = self.log
        if batches:
            log.append_as_follower(batches, now_ms=self._host.now_ms())
        end = log.log_end_offset
        if log.log_start_offset <= leader_high_watermark <= end:
            log.update_high_watermark(leader_high_watermark)
        else:
            log.update_high_watermark(max(log.log_start_offset, min(leader_high_watermark, end)))
        if leader_log_start_offset > log.log_start_offset:
            log.maybe_increment_log_start_offset(min(leader_log_start_offset, log.high_watermark))
        if self.delayed_fetches:
            self.check_fetches()

    # Log start offset.

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of the live replicas. Mirrors Partition.lowWatermarkIfLeader."""
        brokers = self._host.image.brokers
        low = self.log.log_start_offset
        for follower in self.followers.values():
            broker = brokers.get(follower.broker_id)
            if broker is not None and broker.active and follower.log_start_offset < low:
                low = follower.log_start_offset
        return low

    def log_start_moved(self) -> None:
        """Send the followers the log start, with the next bytes or at the end of their Fetch's wait."""
        for fetched in self.sessions.values():
            fetched.session.log_start_moved(fetched)

    def check_deletes(self) -> None:
        """Try to complete the DeleteRecords that wait for this partition."""
        for operation in list(self.delayed_deletes):
            operation.try_complete()

    # High watermark.

    def maybe_increment_high_watermark(self, now_ms: int) -> bool:
        """Move the high watermark to the smallest log end of the maximal ISR and of the replicas about to join it.

        From 3.7 on not below min.insync.replicas, and never back. Mirrors maybeIncrementLeaderHW.
        """
        log = self.log
        state = self.isr_state
        if self._host.high_watermark_waits_for_min_isr and self._is_below_min_isr(len(state.isr)):
            return False
        end = new = log.log_end_offset
        before = log.high_watermark
        if new == before:
            return False
        if self.followers:
            for follower in self.followers.values():
                offset = follower.log_end_offset
                if offset < new and (
                    follower.broker_id in state.maximal_isr
                    or (
                        follower.is_caught_up(end, now_ms, self._host.replica_lag_time_max_ms)
                        and self._may_join_isr(follower)
                    )
                ):
                    if offset <= before:
                        return False
                    new = offset
        log.update_high_watermark(new)
        journal = self._journal
        if journal.full:
            journal.append(
                HighWatermarkAdvanced(
                    time_us=journal.now_us(),
                    broker_id=self._host.broker_id,
                    topic=self.topic_partition.topic,
                    partition=self.topic_partition.partition,
                    high_watermark=new,
                    leader_epoch=self.leader_epoch,
                    last_stable_offset=log.last_stable_offset,
                )
            )
        if self.sessions:
            for fetched in self.sessions.values():
                fetched.session.high_watermark_moved(fetched)
        if self._delayed_produces:
            self._complete_produces()
        if self.delayed_fetches:
            self.check_fetches()
        for listener in self.high_watermark_listeners:
            listener(new)
        return True

    def _complete_produces(self) -> None:
        waiting = self._delayed_produces
        while waiting and (waiting[0][1].completed or waiting[0][0] <= self.log.high_watermark):
            required_offset, operation, index = waiting.popleft()
            if not operation.completed:
                error = self.enough_replicas_reached(required_offset)
                operation.partition_done(index, ErrorCode.NONE if error is None else error)

    # ISR.

    def follower_fetched(
        self, follower: FollowerState, fetch_offset: int, log_start_offset: int, broker_epoch: int
    ) -> None:
        """Record a follower's offset, add it to the ISR, move the high watermark. Mirrors updateFollowerFetchState."""
        now_ms = self._host.now_ms()
        before = follower.log_end_offset
        log_start_before = follower.log_start_offset
        follower.fetched(fetch_offset, log_start_offset, now_ms, self.log.log_end_offset, broker_epoch)
        if follower.broker_id not in self.isr_state.maximal_isr:
            self._maybe_expand_isr(follower)
        if before != fetch_offset:
            self.maybe_increment_high_watermark(now_ms)
        if log_start_before != log_start_offset and self.delayed_deletes:
            self.check_deletes()

    def maybe_shrink_isr(self) -> None:
        """Propose an ISR without the followers that have not caught up for replica.lag.time.max.ms."""
        state = self.isr_state
        if not self.is_leader or state.in_flight or len(state.isr) < 2:
            return
        now_ms = self._host.now_ms()
        end = self.log.log_end_offset
        lag_max_ms = self._host.replica_lag_time_max_ms
        leaving = tuple(
            replica
            for replica in state.isr
            if replica != self._host.broker_id
            and (
                (follower := self.followers.get(replica)) is None or not follower.is_caught_up(end, now_ms, lag_max_ms)
            )
        )
        if leaving:
            self._propose(shrinking(state.isr, leaving))

    def _maybe_expand_isr(self, follower: FollowerState) -> None:
        state = self.isr_state
        start = self.leader_epoch_start_offset
        if state.in_flight or not self.is_leader or start is None or not self._may_join_isr(follower):
            return
        if follower.log_end_offset >= self.log.high_watermark and follower.log_end_offset >= start:
            self._propose(expanding(state.isr, follower.broker_id))

    def _may_join_isr(self, follower: FollowerState) -> bool:
        broker = self._host.image.brokers.get(follower.broker_id)
        epoch = follower.broker_epoch
        return broker is not None and broker.active and epoch is not None and epoch in (ANY_BROKER_EPOCH, broker.epoch)

    def _propose(self, state: IsrState) -> None:
        self.isr_state = state
        self._host.alter_partition.submit(self, state)

    def proposal(self, state: IsrState) -> IsrProposal:
        """Return the AlterPartition item for a pending state."""
        members = []
        for replica in state.proposed_isr:
            if replica == self._host.broker_id:
                epoch: int | None = self._host.broker_epoch
            else:
                follower = self.followers.get(replica)
                epoch = None if follower is None else follower.broker_epoch
            members.append((replica, ANY_BROKER_EPOCH if epoch is None else epoch))
        return IsrProposal(
            topic_partition=self.topic_partition,
            topic_id=self.topic_id,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            new_isr=tuple(members),
        )

    def proposal_finished(self, state: IsrState, result: AlteredPartition) -> bool:
        """Adopt the controller's result for `state`, if it is the present one; return True if a retry is needed."""
        if self.isr_state is not state:
            return False
        error = result.error_code
        if error is ErrorCode.NONE:
            if result.leader_epoch == self.leader_epoch and result.partition_epoch >= self.partition_epoch:
                self.isr_state = committed(result.isr)
                self.partition_epoch = result.partition_epoch
                self._followers_outside(result.isr)
                self.maybe_increment_high_watermark(self._host.now_ms())
            return False
        if error in (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA):
            self.isr_state = committed(state.isr)
            return False
        return error not in _NOT_RETRIED

    # Reading.

    def check_access(self, current_leader_epoch: int, *, leader_only: bool) -> ErrorCode:
        """Return the error for a reader with this leader epoch, -1 for a reader without one (KIP-320)."""
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if leader_only and self.leader_id != self._host.broker_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def read_bound(self, isolation: FetchIsolation) -> int:
        """Return the first offset that a reader of this isolation does not see."""
        if isolation is FetchIsolation.LOG_END:
            return self.log.log_end_offset
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self.log.high_watermark
        return self.log.last_stable_offset

    def diverging_epoch(self, last_fetched_epoch: int, fetch_offset: int) -> EpochEndOffset | None:
        """Return the diverging epoch of a reader at `fetch_offset` after `last_fetched_epoch` (KIP-595).

        None when its log and this one agree so far.

        Raises:
            OffsetOutOfRange: This log does not have the epoch any more.
        """
        log = self.log
        if last_fetched_epoch == NO_EPOCH or (
            last_fetched_epoch == log.epochs.latest_epoch and log.log_start_offset <= fetch_offset <= log.log_end_offset
        ):
            return None
        epoch, end_offset = log.epochs.end_offset_for(last_fetched_epoch, log.log_end_offset)
        if epoch == NO_EPOCH or fetch_offset < log.log_start_offset:
            raise OffsetOutOfRange(fetch_offset, log.log_start_offset, log.log_end_offset)
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return EpochEndOffset(epoch, end_offset)
        return None

    def agrees_with(self, last_fetched_epoch: int, fetch_offset: int) -> bool:
        """Return True if a reader at `fetch_offset` can continue here without an error and without truncation."""
        log = self.log
        if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
            return False
        try:
            return self.diverging_epoch(last_fetched_epoch, fetch_offset) is None
        except OffsetOutOfRange:
            return False

    def continues(self, fetch: PartitionFetch) -> bool:
        """Return True if a follower's fetch meets no error here: not in its epochs, and not in its offset."""
        log = self.log
        offset = fetch.fetch_offset
        if (
            fetch.current_leader_epoch == self.leader_epoch
            and fetch.last_fetched_epoch == log.epochs.latest_epoch
            and self.leader_id == self._host.broker_id
            and log.log_start_offset <= offset <= log.log_end_offset
        ):
            return True  # as for nearly all fetches
        return not self.check_access(fetch.current_leader_epoch, leader_only=True) and self.agrees_with(
            fetch.last_fetched_epoch, offset
        )

    def check_fetches(self) -> None:
        """Complete the parked fetches of this partition that have enough bytes now."""
        for fetch in list(self.delayed_fetches):
            if not fetch.completed and fetch.has_enough(self):
                self._host.wake_fetch(fetch)

    # Truncation.

    def truncate_to(self, offset: int, reason: str) -> None:
        """Truncate the log to an offset of the leader's log."""
        high_watermark = self.log.high_watermark
        self._note_truncation(self.log.truncate_to(offset), high_watermark, reason)

    def truncate_fully_and_start_at(self, offset: int, reason: str) -> None:
        """Delete the whole log and restart it at the leader's offset."""
        high_watermark = self.log.high_watermark
        self._note_truncation(self.log.truncate_fully_and_start_at(offset), high_watermark, reason)

    def start_within(self, batch: StoredBatch) -> bool:
        """Restart an empty log at the beginning of a batch that has the log start inside; return False otherwise.

        DeleteRecords has moved the leader's log start there while this replica was behind; the log start follows that
        of the leader again once the batch is appended, and the leader epoch cache with it. Mirrors how
        appendRecordsToFollowerOrFutureReplica handles UnexpectedAppendOffsetException.
        """
        log = self.log
        if not batch.base_offset < log.log_start_offset == log.log_end_offset <= batch.last_offset:
            return False
        log.truncate_fully_and_start_at(batch.base_offset)
        return True

    def _note_truncation(self, done: TruncationInfo, high_watermark: int, reason: str) -> None:
        note_truncation(self._journal, self._host.broker_id, self, done, high_watermark=high_watermark, reason=reason)
