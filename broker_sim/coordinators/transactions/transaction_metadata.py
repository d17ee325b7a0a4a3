"""One transactional id: its producer, the present transaction, and the change that is being written. Mirrors
TransactionMetadata and TxnTransitMetadata.

Each change has two steps: `prepare_...` returns the target of the change and marks it as pending, and `complete`
applies the target when its record is committed. A pending change refuses every other one (CONCURRENT_TRANSACTIONS).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from broker_sim.coordinators.transactions.partition_sets import by_topic
from broker_sim.coordinators.transactions.producers import NO_EPOCH, NO_PRODUCER_ID
from broker_sim.coordinators.transactions.transaction_state import COMPLETE, TransactionState, may_follow
from broker_sim.errors import BrokerSimError
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.coordinator.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from protocol_specs.schemas.record_serde import encode_key

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LARGEST_EPOCH", "TransactionMetadata", "TransactionTarget", "is_exhausted"]

NO_TIME: Final = -1
KEYS_MAX: Final = 10_000
"""Most transactional ids whose key is kept with its bytes."""
PARTITIONS_MAX: Final = 1_000
"""Most sets of partitions that are kept with their bytes."""
PACKED_VERSION: Final = 1
"""The version of values that are packed here, because the encoder of the message takes longer."""
_BEFORE_PARTITIONS: Final = struct.Struct(">hqhib")
"""A value up to its partitions: version, producer id, epoch, time-out, state."""
_VERSION_BYTES: Final = 2
_TIMES: Final = struct.Struct(">qq")
_NULL: Final = b"\0"
_NO_TAGS: Final = b"\0"
LARGEST_EPOCH: Final = 2**15 - 1
TRANSACTIONS_V2: Final = 2
"""The level of `transaction.version` from which on each end of a transaction increments the epoch (KIP-890)."""
# Constants, because looking up a member of an enum is slow.
_EMPTY: Final = TransactionState.EMPTY
_ONGOING: Final = TransactionState.ONGOING
_PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
_COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT


def is_exhausted(producer_epoch: int) -> bool:
    """Return True for the last epoch that a producer gets; the largest one is left for a fence."""
    return producer_epoch >= LARGEST_EPOCH - 1


class TransactionTarget(NamedTuple):
    """The state to which a transactional id changes; times are in milliseconds, -1 without a transaction."""

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...]
    start_ms: int
    last_update_ms: int
    client_version: int
    copied: int = 0
    """The number of partitions, repetitions included, from which the set of partitions was made; 0 if it has grown."""

    def record(self, transactional_id: str, version: int, *, java_sets: bool) -> CoordinatorRecord:
        """Return the record of the target; `version` is that of its value, 1 since transactions v1 (KIP-890)."""
        key, encoded_key = _key(transactional_id)
        if version != PACKED_VERSION:
            return CoordinatorRecord(key, self.value(version, java_sets=java_sets), version, encoded_key)
        packed = b"".join(
            (
                _BEFORE_PARTITIONS.pack(version, self.producer_id, self.producer_epoch, self.timeout_ms, self.state),
                _NULL if self.state is _EMPTY else _packed_partitions(self.partitions, self.copied, java_sets),
                _TIMES.pack(self.last_update_ms, self.start_ms),
                _packed_tags(self.previous_producer_id, self.next_producer_id, self.client_version),
            )
        )
        return CoordinatorRecord(key, None, version, encoded_key, packed)

    def value(self, version: int, *, java_sets: bool) -> TransactionLogValue:
        """Return the value of the record as a message."""
        value = TransactionLogValue(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state,
            transaction_partitions=(
                None if self.state is _EMPTY else _schemas(self.partitions, self.copied, java_sets=java_sets)
            ),
            transaction_last_update_timestamp_ms=self.last_update_ms,
            transaction_start_timestamp_ms=self.start_ms,
        )
        if version > 0:
            value.previous_producer_id = self.previous_producer_id
            value.next_producer_id = self.next_producer_id
            value.client_transaction_version = self.client_version
        return value


@lru_cache(maxsize=KEYS_MAX)
def _key(transactional_id: str) -> tuple[TransactionLogKey, bytes]:
    """Return the key of the records of a transactional id, which repeat it, and its bytes."""
    key = TransactionLogKey(transactional_id=transactional_id)
    return key, encode_key(key)


def _schemas(partitions: tuple[TopicPartition, ...], copied: int, *, java_sets: bool) -> list[PartitionsSchema]:
    topics = by_topic(partitions, java=java_sets, copied=copied)
    return [PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in topics]


# The fast path of a record: a transaction repeats its partitions and tags, and the numbers are packed.


@lru_cache(maxsize=PARTITIONS_MAX)
def _packed_partitions(partitions: tuple[TopicPartition, ...], copied: int, java_sets: bool) -> bytes:  # noqa: FBT001
    value = TransactionLogValue(transaction_partitions=_schemas(partitions, copied, java_sets=java_sets))
    return value.encode(PACKED_VERSION)[_BEFORE_PARTITIONS.size - _VERSION_BYTES : -_TIMES.size - len(_NO_TAGS)]


@lru_cache(maxsize=KEYS_MAX)
def _packed_tags(previous_producer_id: int, next_producer_id: int, client_version: int) -> bytes:
    value = TransactionLogValue(
        transaction_partitions=None,
        previous_producer_id=previous_producer_id,
        next_producer_id=next_producer_id,
        client_transaction_version=client_version,
    )
    return value.encode(PACKED_VERSION)[_BEFORE_PARTITIONS.size - _VERSION_BYTES + len(_NULL) + _TIMES.size :]


@dataclass(slots=True, kw_only=True, eq=False)
class TransactionMetadata:
    """The state of one transactional id."""

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the last increment, as far as this coordinator knows; it is not in records."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    """In an ongoing transaction its partitions, in a prepared one those that lack their marker."""
    start_ms: int = NO_TIME
    last_update_ms: int
    client_version: int = 0
    pending_state: TransactionState | None = None
    has_failed_epoch_fence: bool = False
    """True when a fence was not written: its epoch, which no client has seen, is not incremented again."""

    @classmethod
    def of_record(cls, transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
        """Return the state that a record has."""
        return cls(
            transactional_id=transactional_id,
            producer_id=value.producer_id,
            previous_producer_id=value.previous_producer_id,
            next_producer_id=value.next_producer_id,
            producer_epoch=value.producer_epoch,
            timeout_ms=value.transaction_timeout_ms,
            state=TransactionState(value.transaction_status),
            partitions={
                TopicPartition(topic.topic, index): None
                for topic in value.transaction_partitions or ()
                for index in topic.partition_ids
            },
            start_ms=value.transaction_start_timestamp_ms,
            last_update_ms=value.transaction_last_update_timestamp_ms,
            client_version=value.client_transaction_version,
        )

    # Steps of a change.

    def prepare_increment(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> TransactionTarget:
        """Begin anew with the next epoch. A repeated request gets the present epoch again (KIP-360).

        Raises:
            BrokerSimError: There is no next epoch.
            CoordinatorError: `expected_epoch` is neither the present epoch nor the one before: PRODUCER_FENCED.
        """
        if is_exhausted(self.producer_epoch):
            raise BrokerSimError(f"transactional id {self.transactional_id} has no further epochs: {self}")
        if expected_epoch is None:
            epoch, last_epoch = self.producer_epoch + 1, NO_EPOCH
        elif self.producer_epoch in (NO_EPOCH, expected_epoch):
            epoch, last_epoch = self.producer_epoch + 1, self.producer_epoch
        elif expected_epoch == self.last_producer_epoch:
            epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
        else:
            raise CoordinatorError(ErrorCode.PRODUCER_FENCED)
        return self._prepare(
            TransactionState.EMPTY,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=(),
            start_ms=NO_TIME,
            last_update_ms=now_ms,
        )

    def prepare_rotation(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, keeps_last_epoch: bool
    ) -> TransactionTarget:
        """Begin anew with another producer id, because the epochs of the present one are exhausted."""
        return self._prepare(
            TransactionState.EMPTY,
            producer_id=producer_id,
            producer_epoch=0,
            last_producer_epoch=self.producer_epoch if keeps_last_epoch else NO_EPOCH,
            timeout_ms=timeout_ms,
            partitions=(),
            start_ms=NO_TIME,
            last_update_ms=now_ms,
        )

    def prepare_add(self, added: Sequence[TopicPartition], now_ms: int, client_version: int) -> TransactionTarget:
        """Add partitions; the first ones start a transaction."""
        is_new = self.state is not _ONGOING
        return self._prepare(
            _ONGOING,
            copied=len(self.partitions) + len(added),
            partitions=tuple(dict.fromkeys([*self.partitions, *added])),
            start_ms=now_ms if is_new else self.start_ms,
            last_update_ms=now_ms,
            client_version=client_version,
        )

    def prepare_fence(self, *, fences_largest: bool) -> int:
        """Mark a fence as pending; return the epoch with which the transaction is to be aborted.

        With `fences_largest` a producer with the largest epoch keeps it.
        """
        is_largest = self.producer_epoch == LARGEST_EPOCH
        if not may_follow(self.state, TransactionState.PREPARE_EPOCH_FENCE) or (is_largest and not fences_largest):
            raise BrokerSimError(f"transactional id {self.transactional_id} cannot be fenced: {self}")
        self.pending_state = TransactionState.PREPARE_EPOCH_FENCE
        return self.producer_epoch if self.has_failed_epoch_fence or is_largest else self.producer_epoch + 1

    def begin_fenced_end(self, producer_epoch: int) -> None:
        """The abort follows the fence: the change that is pending from now on is the abort."""
        self.pending_state = None
        self.producer_epoch = producer_epoch
        self.last_producer_epoch = NO_EPOCH

    def prepare_end(
        self,
        state: TransactionState,
        now_ms: int,
        *,
        client_version: int,
        next_producer_id: int = NO_PRODUCER_ID,
        starts_now: bool = False,
        fences_largest: bool = False,
    ) -> TransactionTarget:
        """Decide the end. With transactions v2 the markers have the next epoch.

        `starts_now` is an abort without a transaction (transactions v2), which begins and ends at once. With
        `fences_largest` an abort with the largest epoch keeps it; else there is no next epoch.
        """
        epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
        if client_version >= TRANSACTIONS_V2:
            stays = fences_largest and state is TransactionState.PREPARE_ABORT and epoch == LARGEST_EPOCH
            epoch, last_epoch = epoch if stays else epoch + 1, epoch
        return self._prepare(
            state,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            next_producer_id=next_producer_id,
            partitions=() if starts_now else tuple(self.partitions),
            start_ms=now_ms if starts_now else self.start_ms,
            last_update_ms=now_ms,
            client_version=client_version,
        )

    def prepare_complete(self, now_ms: int) -> TransactionTarget:
        """All markers will be written; a producer whose epochs are exhausted then has its next id."""
        self.has_failed_epoch_fence = False
        rotates = self.client_version >= TRANSACTIONS_V2 and self.next_producer_id != NO_PRODUCER_ID
        is_commit = self.state is _PREPARE_COMMIT
        return self._prepare(
            _COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            partitions=(),
            last_update_ms=now_ms,
        )

    def prepare_dead(self) -> None:
        """Mark the removal of the id as pending."""
        assert may_follow(self.state, TransactionState.DEAD)
        self.pending_state = TransactionState.DEAD

    def _prepare(
        self,
        state: TransactionState,
        *,
        last_update_ms: int,
        partitions: tuple[TopicPartition, ...],
        producer_id: int | None = None,
        producer_epoch: int | None = None,
        last_producer_epoch: int | None = None,
        next_producer_id: int = NO_PRODUCER_ID,
        timeout_ms: int | None = None,
        start_ms: int | None = None,
        client_version: int | None = None,
        copied: int = 0,
    ) -> TransactionTarget:
        epoch = self.producer_epoch if producer_epoch is None else producer_epoch
        is_valid = 0 <= epoch <= LARGEST_EPOCH and may_follow(self.state, state)
        if self.pending_state is not None or not is_valid:
            raise BrokerSimError(f"transactional id {self.transactional_id} cannot become {state.label}: {self}")
        self.pending_state = state
        # By position, which takes half the time.
        return TransactionTarget(
            self.producer_id if producer_id is None else producer_id,
            self.producer_id,
            next_producer_id,
            epoch,
            self.last_producer_epoch if last_producer_epoch is None else last_producer_epoch,
            self.timeout_ms if timeout_ms is None else timeout_ms,
            state,
            partitions,
            self.start_ms if start_ms is None else start_ms,
            last_update_ms,
            self.client_version if client_version is None else client_version,
            copied,
        )

    def complete(self, target: TransactionTarget, *, keeps_start: bool) -> None:
        """Apply a target whose record is committed; with `keeps_start` a new epoch does not reset the start time."""
        assert self.pending_state is target.state, self
        self.producer_id = target.producer_id
        self.previous_producer_id = target.previous_producer_id
        self.next_producer_id = target.next_producer_id
        self.producer_epoch = target.producer_epoch
        self.last_producer_epoch = target.last_producer_epoch
        self.timeout_ms = target.timeout_ms
        self.partitions = dict.fromkeys(target.partitions)
        if target.state is not _EMPTY or not keeps_start:
            self.start_ms = target.start_ms
        self.last_update_ms = target.last_update_ms
        self.client_version = target.client_version
        self.pending_state = None
        self.state = target.state

    @property
    def is_complete(self) -> bool:
        """True if the last transaction has ended with all its markers."""
        return self.state in COMPLETE
