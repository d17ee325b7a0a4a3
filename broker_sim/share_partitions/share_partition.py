"""One share partition on the leader of its partition: the records in delivery and their states. Mirrors SharePartition.

The records from the start offset to the end offset are in delivery: batches in the order of offsets, each with one
state or with one per offset. Records before the start offset are finished. A change that a member requests is stored by
the share coordinator before it is final; the expiry of a lock has effect at once.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from twisted.internet.defer import Deferred, fail, succeed

from broker_sim.control.events import ShareRecordsChanged
from broker_sim.coordinators.share.state_batches import StateBatch
from broker_sim.replication.requests import FetchIsolation
from broker_sim.share_partitions.acknowledgement import acknowledge_batch
from broker_sim.share_partitions.acquisition_lock import AcquisitionLocks
from broker_sim.share_partitions.in_flight_batch import InFlightBatch
from broker_sim.share_partitions.in_flight_batches import InFlightBatches
from broker_sim.share_partitions.in_flight_state import NO_MEMBER, InFlightState
from broker_sim.share_partitions.record_states import RecordState
from broker_sim.share_partitions.share_error import ShareError, invalid_state, persister_error, share_error
from broker_sim.share_partitions.start_offset import advance_start_offset, move_to_log_start
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import read_share_group_state as read
from protocol_specs.messages import write_share_group_state as write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.control.journal import Journal
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
    from broker_sim.coordinators.share.share_persister import SharePersister
    from broker_sim.replication.purgatory import ExpirationQueue
    from broker_sim.replication.replica_manager import ReplicaManager
    from broker_sim.share_partitions.acknowledgement import AcknowledgedBatch
    from broker_sim.share_partitions.acquisition_lock import AcquisitionLock
    from broker_sim.share_partitions.share_group_settings import ShareGroupSettings
    from broker_sim.topic_partition import TopicPartition
    from sim_runtime.interfaces import IReactor

__all__ = ["Phase", "ReadGap", "SharePartition", "SharePartitionHost", "Transition"]

UNINITIALIZED_START_OFFSET = -1


class SharePartitionHost(Protocol):
    """The parts of its broker that a share partition uses."""

    id: int
    journal: Journal
    reactor: IReactor
    replica_manager: ReplicaManager


class Phase(Enum):
    """The state of a share partition. Mirrors SharePartitionState."""

    EMPTY = auto()
    INITIALIZING = auto()
    ACTIVE = auto()
    FAILED = auto()
    FENCED = auto()


class Transition(NamedTuple):
    """A change that is not stored yet: the state in memory, the batch to store, and the reason if it is no request."""

    state: InFlightState
    stored: StateBatch
    reason: str = ""


class ReadGap:
    """The offsets that the stored state does not have, from `start_offset` up to the end offset at that time.

    Mirrors GapWindow: an earlier leader has delivered these records, or they do not exist.
    """

    __slots__ = ("end_offset", "start_offset")

    def __init__(self, start_offset: int, end_offset: int) -> None:
        self.start_offset = start_offset
        self.end_offset = end_offset


class SharePartition:
    """The records of one partition in delivery to the members of one share group."""

    def __init__(
        self,
        key: SharePartitionKey,
        topic_partition: TopicPartition,
        leader_epoch: int,
        *,
        host: SharePartitionHost,
        settings: ShareGroupSettings,
        persister: SharePersister,
        expirations: ExpirationQueue,
        changed: Callable[[SharePartitionKey], None],
        lock_expired: Callable[[SharePartitionKey], None],
    ) -> None:
        self.key = key
        self.topic_partition = topic_partition
        self.leader_epoch = leader_epoch
        self.settings = settings
        self.phase = Phase.EMPTY
        self.state_epoch = 0
        self.start_offset = 0
        self.end_offset = 0
        self.complete_count = 0
        """How many records after the start offset are acknowledged or archived."""
        self.batches = InFlightBatches()
        self.read_gap: ReadGap | None = None
        self.search_available = False
        """True if a record in delivery may be available; else the next fetch is after the end offset."""
        self.located_offset = -1
        """The fetch offset whose place in the log a ShareFetch has found last. Mirrors fetchOffsetMetadata."""
        self.locks = AcquisitionLocks(host.reactor, expirations, self._lock_expired)
        self._host = host
        self._persister = persister
        self._changed = changed
        self._after_lock = lock_expired

    @property
    def is_active(self) -> bool:
        """True if the state is read and the broker leads the partition."""
        return self.phase is Phase.ACTIVE

    @property
    def delivery_limit(self) -> int:
        """How often a record is delivered."""
        return self.settings.delivery_limit(self.key.group_id)

    @property
    def lock_ms(self) -> int:
        """For how long a member may keep acquired records."""
        return self.settings.record_lock_ms(self.key.group_id)

    @property
    def in_flight_count(self) -> int:
        """The number of offsets in delivery."""
        return self.end_offset - self.start_offset + 1 if len(self.batches) else 0

    @property
    def has_read_gap(self) -> bool:
        """True while no record after the stored state is acquired."""
        return self.read_gap is not None and self.read_gap.end_offset == self.end_offset

    def count_from_start(self, first_offset: int, last_offset: int) -> int:
        """Return how many offsets of a range are not below the start offset."""
        return max(last_offset - max(self.start_offset, first_offset) + 1, 0)

    def fence(self) -> None:
        """End: the broker does not lead the partition any more, or the group has no members."""
        self.phase = Phase.FENCED

    # Initialization.

    def initialize(self) -> Deferred[None]:
        """Read the state; the Deferred fails with a ShareError, after which the share partition is useless."""
        self.phase = Phase.INITIALIZING
        data = read.PartitionData(partition=self.key.partition, leader_epoch=self.leader_epoch)
        return self._persister.read(self.key, data).addCallback(self._initialized)

    def _initialized(self, result: read.PartitionResult) -> None:
        if self.phase is not Phase.INITIALIZING:
            raise ShareError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.phase = Phase.FAILED
        if result.error_code:
            raise persister_error(result.error_code, result.error_message)
        start_offset = result.start_offset
        self.start_offset = self._reset_offset() if start_offset == UNINITIALIZED_START_OFFSET else start_offset
        self.state_epoch = result.state_epoch
        self._restore(result.state_batches)
        self.phase = Phase.ACTIVE

    def _reset_offset(self) -> int:
        timestamp = self.settings.reset_timestamp(self.key.group_id)
        found = self._host.replica_manager.list_offset(
            self.topic_partition,
            timestamp=timestamp,
            isolation=FetchIsolation.HIGH_WATERMARK,
            current_leader_epoch=self.leader_epoch,
        )
        if found.error_code:
            raise ShareError(found.error_code)
        if found.offset < 0:
            text = f"Offset for timestamp {timestamp} not found for topic partition: {self.topic_partition}"
            raise ShareError(ErrorCode.OFFSET_NOT_AVAILABLE, text)
        return found.offset

    def _restore(self, stored: Sequence[read.StateBatch]) -> None:
        gap_start = -1
        previous_last = self.start_offset - 1
        for each in stored:
            if each.first_offset < self.start_offset or each.last_offset < each.first_offset:
                text = f"Failed to initialize the share partition {self.key.group_id}-{self.topic_partition}"
                raise ShareError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
            if gap_start == -1 and each.first_offset > previous_last + 1:
                gap_start = previous_last + 1
            previous_last = each.last_offset
            state = InFlightState(RecordState(each.delivery_state), each.delivery_count, NO_MEMBER)
            batch = InFlightBatch(each.first_offset, each.last_offset, state)
            self.batches.add(batch)
            if state.state.is_terminal:
                self.complete_count += batch.size
        if not len(self.batches):
            self.end_offset = self.start_offset
            return
        self.search_available = True
        self.end_offset = self.batches.last.last_offset
        if gap_start != -1:
            self.read_gap = ReadGap(gap_start, self.end_offset)
        advance_start_offset(self)

    # Fetches.

    def next_fetch_offset(self) -> int:
        """Return the offset of the first available record, or the one after all records in delivery."""
        if not len(self.batches) or self.start_offset > self.batches.last.last_offset:
            self.search_available = False
            return self.end_offset
        if not self.search_available:
            return self.end_offset + 1
        found = self._first_available()
        if found is None:
            self.search_available = False
            return self.end_offset + 1
        return found

    def _first_available(self) -> int | None:
        gap_start = self.read_gap.start_offset if self.read_gap is not None and self.has_read_gap else None
        for batch in self.batches:
            if gap_start is not None:
                if batch.first_offset > gap_start:
                    return gap_start
                gap_start = max(batch.last_offset + 1, gap_start)
            for first, _, state in batch.parts():
                if state.is_available:
                    return first
        return None

    def can_acquire(self) -> bool:
        """Return True if a fetch can acquire a record: one that is available again, or a new one below the limit."""
        if self.next_fetch_offset() != self.end_offset + 1:
            return True
        return self.in_flight_count < self.settings.in_flight_limit(self.key.group_id)

    def log_start_moved(self, log_start_offset: int) -> None:
        """Finish the records below the log's start: a fetch was out of range."""
        move_to_log_start(self, log_start_offset)

    # Acknowledgements.

    def acknowledge(self, member_id: str, acknowledged: Sequence[AcknowledgedBatch]) -> Deferred[None]:
        """Acknowledge records of a member; the Deferred fails with a ShareError, and then nothing has changed."""
        transitions: list[Transition] = []
        try:
            for batch in acknowledged:
                acknowledge_batch(self, member_id, batch, transitions)
        except ShareError as error:
            self._roll_back(transitions)
            return fail(error)
        return self._store(transitions, member_id, "")

    def release(self, member_id: str) -> Deferred[None]:
        """Release all records that a member has acquired: its session has ended. Mirrors releaseAcquiredRecords."""
        transitions: list[Transition] = []
        try:
            for batch in self.batches:
                self._split_at_start(batch, member_id)
                for first, last, state in batch.parts():
                    if state.state is RecordState.ACQUIRED and state.member_id in (member_id, NO_MEMBER):
                        self._release_part(first, last, state, transitions)
        except ShareError as error:
            self._roll_back(transitions)
            return fail(error)
        return self._store(transitions, member_id, "its session has ended")

    def _split_at_start(self, batch: InFlightBatch, member_id: str | None) -> None:
        """Keep a state per offset for an acquired batch that has the start offset inside."""
        whole = batch.whole
        if (
            whole is not None
            and whole.state is RecordState.ACQUIRED
            and member_id in (None, whole.member_id)
            and batch.first_offset < self.start_offset <= batch.last_offset
        ):
            batch.split(self.locks)

    def _release_part(self, first: int, last: int, state: InFlightState, transitions: list[Transition]) -> None:
        following = RecordState.ARCHIVED if last < self.start_offset else RecordState.AVAILABLE
        if not state.begin(following, self.delivery_limit):
            raise invalid_state("Unable to release acquired records for the batch")
        self.add_transition(transitions, first, last, state)

    def add_transition(
        self, transitions: list[Transition], first: int, last: int, state: InFlightState, reason: str = ""
    ) -> None:
        """Add a transition that has begun, and count its records if they are finished."""
        transitions.append(Transition(state, StateBatch(first, last, state.delivery_count, state.state), reason))
        if state.state.is_terminal:
            self.complete_count += self.count_from_start(first, last)

    def _roll_back(self, transitions: list[Transition]) -> None:
        for state, stored, _ in transitions:
            state.complete(stored=False)
            if state.state is RecordState.AVAILABLE:
                self.search_available = True
            if RecordState(stored.delivery_state).is_terminal and not state.state.is_terminal:
                self.complete_count -= self.count_from_start(stored.first_offset, stored.last_offset)

    def _store(self, transitions: list[Transition], member_id: str, reason: str) -> Deferred[None]:
        if not transitions:
            return succeed(None)
        written = self._write([transition.stored for transition in transitions])

        def stored(_: None) -> None:
            for transition in transitions:
                transition.state.complete(stored=True)
                if transition.state.state is RecordState.AVAILABLE:
                    self.search_available = True
            for transition in transitions:
                self.report(member_id, transition.stored, reason or transition.reason)
            if advance_start_offset(self):
                self._changed(self.key)

        def failed(failure: Any) -> Any:
            self._roll_back(transitions)
            return failure

        return written.addCallbacks(stored, failed)

    def _write(self, batches: Sequence[StateBatch]) -> Deferred[None]:
        data = write.PartitionData(
            partition=self.key.partition,
            state_epoch=self.state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.complete_count,
            state_batches=[write.StateBatch(**batch._asdict()) for batch in batches],
        )

        def written(result: write.PartitionResult) -> None:
            if result.error_code:
                raise persister_error(result.error_code, result.error_message)

        return self._persister.write(self.key, data).addCallback(written)

    def report(self, member_id: str, records: StateBatch, reason: str = "") -> None:
        """Add an event to the journal: records have another state. Without a reason the member has requested it."""
        journal = self._host.journal
        if not journal.full:
            return
        state = RecordState(records.delivery_state)
        if not reason and state is RecordState.ARCHIVED and records.delivery_count >= self.delivery_limit:
            reason = f"delivery {records.delivery_count} was the last one"
        journal.append(
            ShareRecordsChanged(
                time_us=journal.now_us(),
                broker_id=self._host.id,
                group_id=self.key.group_id,
                member_id=member_id,
                topic=self.topic_partition.topic,
                partition=self.topic_partition.partition,
                first_offset=records.first_offset,
                last_offset=records.last_offset,
                state=state.name,
                delivery_count=records.delivery_count,
                reason=reason,
            )
        )

    # Locks.

    def _lock_expired(self, lock: AcquisitionLock) -> None:
        """Release the records of a lock at once; storing that may fail. Mirrors releaseAcquisitionLockOnTimeout."""
        floor = self.batches.floor(lock.first_offset)
        if floor is None:
            return
        released: list[tuple[str, StateBatch]] = []
        for batch in self.batches.between(floor.first_offset, lock.last_offset):
            self._split_at_start(batch, None)
            for first, last, state in batch.parts():
                within = batch.whole is not None or lock.first_offset <= first <= lock.last_offset
                if within and state.state is RecordState.ACQUIRED:
                    self._expire_part(first, last, state, released)
        if not released:
            return
        for member_id, stored in released:
            self.report(member_id, stored, "the acquisition lock has expired")
        self._write([stored for _, stored in released]).addErrback(share_error).addCallback(
            lambda _: advance_start_offset(self)
        )
        self._after_lock(self.key)

    def _expire_part(self, first: int, last: int, state: InFlightState, released: list[tuple[str, StateBatch]]) -> None:
        following = RecordState.ARCHIVED if last < self.start_offset else RecordState.AVAILABLE
        member_id = state.member_id
        if not state.change(following, self.delivery_limit):
            return
        released.append((member_id, StateBatch(first, last, state.delivery_count, state.state)))
        state.cancel_lock()
        if state.state is RecordState.ARCHIVED:
            self.complete_count += self.count_from_start(first, last)
        else:
            self.search_available = True
