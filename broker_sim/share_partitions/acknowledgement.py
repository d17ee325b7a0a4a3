"""The checks and changes of one acknowledged range of offsets. Mirrors SharePartition.acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.share_partitions.in_flight_state import NO_MEMBER
from broker_sim.share_partitions.record_states import AcknowledgeType, RecordState
from broker_sim.share_partitions.share_error import BrokenAcknowledgement, ShareError, invalid_state
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.share_partitions.in_flight_batch import InFlightBatch
    from broker_sim.share_partitions.in_flight_state import InFlightState
    from broker_sim.share_partitions.share_partition import SharePartition, Transition

__all__ = ["AcknowledgedBatch", "acknowledge_batch"]

_STATES: Final = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}
_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
_GAP: Final = "acknowledged as a gap"
_IN_TRANSITION: Final = "The record state is invalid. The acknowledgement of delivery could not be completed."


class AcknowledgedBatch(NamedTuple):
    """A range of offsets, with one type for all or one per offset."""

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def type_of(self, offset: int) -> AcknowledgeType:
        """Return the type of one offset."""
        return AcknowledgeType(self.types[0] if len(self.types) == 1 else self.types[offset - self.first_offset])


def acknowledge_batch(
    partition: SharePartition, member_id: str, acknowledged: AcknowledgedBatch, transitions: list[Transition]
) -> None:
    """Begin the changes of one range; `transitions` has those begun also when it fails.

    Raises:
        ShareError: Records are not in delivery, not acquired by the member, or in transition.
        BrokenAcknowledgement: The start offset is within the range, and no record is in delivery there.
    """
    if acknowledged.last_offset < partition.start_offset:
        return
    for batch in _batches_of(partition, acknowledged):
        if batch.last_offset < partition.start_offset:
            continue
        whole = batch.whole
        if whole is not None:
            _check_whole(whole, member_id)
        start_inside = batch.first_offset < partition.start_offset <= batch.last_offset
        per_offset = len(acknowledged.types) > 1 or start_inside
        if whole is None or per_offset or not batch.is_within(acknowledged.first_offset, acknowledged.last_offset):
            if whole is not None and whole.state is not RecordState.ACQUIRED:
                raise invalid_state("The batch cannot be acknowledged. The subset batch is not in the acquired state.")
            batch.split(partition.locks)
            _acknowledge_offsets(partition, member_id, acknowledged, batch, transitions)
        else:
            _acknowledge_whole(partition, acknowledged, batch, whole, transitions)


def _batches_of(partition: SharePartition, acknowledged: AcknowledgedBatch) -> list[InFlightBatch]:
    floor = partition.batches.floor(acknowledged.first_offset)
    if floor is None and acknowledged.first_offset < partition.start_offset <= acknowledged.last_offset:
        # The start offset has moved into the range: its earlier records are finished.
        floor = partition.batches.floor(partition.start_offset)
        if floor is None:
            raise BrokenAcknowledgement("No record is in delivery at the start offset")
    if floor is None:
        raise invalid_state("Batch record not found. The request batch offsets are not found in the cache.")
    batches = partition.batches.between(floor.first_offset, acknowledged.last_offset)
    if batches[-1].last_offset < acknowledged.first_offset:
        text = "Batch record not found. The first offset in request is past acquired records."
        raise ShareError(ErrorCode.INVALID_REQUEST, text)
    if acknowledged.last_offset > batches[-1].last_offset:
        text = "Batch record not found. The last offset in request is past acquired records."
        raise ShareError(ErrorCode.INVALID_REQUEST, text)
    return batches


def _check_whole(whole: InFlightState, member_id: str) -> None:
    if whole.member_id == NO_MEMBER:
        raise invalid_state(_NOT_ACQUIRED)
    if whole.member_id != member_id:
        raise invalid_state("Member is not the owner of batch record")
    if whole.in_transition:
        raise invalid_state(_IN_TRANSITION)


def _acknowledge_offsets(
    partition: SharePartition,
    member_id: str,
    acknowledged: AcknowledgedBatch,
    batch: InFlightBatch,
    transitions: list[Transition],
) -> None:
    first = max(acknowledged.first_offset, partition.start_offset)
    for offset, state in batch.states_between(first, acknowledged.last_offset):
        if state.state is not RecordState.ACQUIRED:
            raise invalid_state("The offset cannot be acknowledged. The offset is not acquired.")
        if state.in_transition:
            raise invalid_state(_IN_TRANSITION)
        if state.member_id != member_id:
            raise invalid_state("Member is not the owner of offset")
        _acknowledge_part(partition, offset, offset, state, acknowledged.type_of(offset), transitions)


def _acknowledge_whole(
    partition: SharePartition,
    acknowledged: AcknowledgedBatch,
    batch: InFlightBatch,
    whole: InFlightState,
    transitions: list[Transition],
) -> None:
    if whole.state is not RecordState.ACQUIRED:
        raise invalid_state(_NOT_ACQUIRED)
    kind = acknowledged.type_of(acknowledged.first_offset)
    _acknowledge_part(partition, batch.first_offset, batch.last_offset, whole, kind, transitions)


def _acknowledge_part(
    partition: SharePartition,
    first: int,
    last: int,
    state: InFlightState,
    kind: AcknowledgeType,
    transitions: list[Transition],
) -> None:
    if kind is AcknowledgeType.RENEW:
        if not partition.settings.renews_locks(partition.key.group_id):
            raise invalid_state("Renewing acquisition locks is not enabled for the group.")
        state.cancel_lock()
        state.lock = partition.locks.lock(first, last, partition.lock_ms)
        return
    if not state.begin(_STATES[kind], partition.delivery_limit):
        raise invalid_state("Unable to acknowledge records for the batch")
    # A client sends GAP for an offset without a record: a marker, or what compaction has left. No consumer refuses it.
    reason = _GAP if kind is AcknowledgeType.GAP else ""
    partition.add_transition(transitions, first, last, state, reason)
