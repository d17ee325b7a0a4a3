"""After any faults of members, leaders and coordinators, the records of a share group are finished, each by one member.

Each defect that is put in on purpose is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import succeed

from broker_sim.coordinators.share.share_partition_state import SharePartitionState
from broker_sim.coordinators.share.share_shard import ShareShard
from broker_sim.share_partitions import acknowledgement, start_offset
from broker_sim.share_partitions.in_flight_state import InFlightState
from broker_sim.share_partitions.record_states import RecordState
from broker_sim.share_partitions.share_partition import SharePartition
from tests.broker_sim.coordinators.run_machine import run_machine
from tests.broker_sim.share_partitions.share_machine import ShareMachine

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = 12
EXAMPLES_UNTIL_FOUND = 150
STEPS = 30


def test_all_records_are_finished_by_one_member() -> None:
    run_machine(ShareMachine, examples=EXAMPLES, steps=STEPS)


def acquired_records_are_available(patch: pytest.MonkeyPatch) -> None:
    def is_available(state: InFlightState) -> bool:
        return state.state in (RecordState.AVAILABLE, RecordState.ACQUIRED) and not state.in_transition

    patch.setattr(InFlightState, "is_available", property(is_available))


def deliveries_have_no_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharePartition, "delivery_limit", 100)


def the_owner_is_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(acknowledgement, "_check_whole", lambda *_: None)


def acknowledgements_are_not_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharePartition, "_write", lambda *_: succeed(None))


def locks_do_not_expire(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharePartition, "_lock_expired", lambda *_: None)


def the_start_offset_passes_available_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(start_offset, "_is_finished", lambda state: state.state is not RecordState.ACQUIRED)


def updates_lose_finished_records(patch: pytest.MonkeyPatch) -> None:
    def updated(state: SharePartitionState, value: Any) -> SharePartitionState:
        value.state_batches = [each for each in value.state_batches if each.delivery_state == RecordState.AVAILABLE]
        return original(state, value)

    original = SharePartitionState.updated
    patch.setattr(SharePartitionState, "updated", updated)


def former_leaders_are_not_fenced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShareShard, "_fenced_leader", lambda *_: None)


def expired_locks_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    def acquire(state: InFlightState, member_id: str) -> None:
        state.state, state.member_id = RecordState.ACQUIRED, member_id

    patch.setattr(InFlightState, "acquire", acquire)


DEFECTS = [
    acquired_records_are_available,
    deliveries_have_no_limit,
    the_owner_is_not_checked,
    acknowledgements_are_not_stored,
    locks_do_not_expire,
    the_start_offset_passes_available_records,
    updates_lose_finished_records,
    former_leaders_are_not_fenced,
    expired_locks_are_not_counted,
]


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        run_machine(ShareMachine, examples=EXAMPLES_UNTIL_FOUND, steps=STEPS)
