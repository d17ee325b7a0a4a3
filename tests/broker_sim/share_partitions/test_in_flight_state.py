from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.replication.purgatory import ExpirationQueue
from broker_sim.share_partitions.acquisition_lock import AcquisitionLocks
from broker_sim.share_partitions.in_flight_batch import InFlightBatch
from broker_sim.share_partitions.in_flight_state import InFlightState
from broker_sim.share_partitions.record_states import RecordState
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from broker_sim.share_partitions.acquisition_lock import AcquisitionLock

LIMIT = 5


def acquired(count: int = 1) -> InFlightState:
    state = InFlightState(RecordState.AVAILABLE, count - 1, "")
    state.acquire("m")
    return state


def test_a_transition_that_is_not_stored_goes_back() -> None:
    state = acquired()
    assert state.begin(RecordState.ACKNOWLEDGED, LIMIT)
    assert (state.state, state.in_transition) == (RecordState.ACKNOWLEDGED, True)
    assert not state.begin(RecordState.AVAILABLE, LIMIT)
    state.complete(stored=False)
    assert (state.state, state.member_id, state.in_transition) == (RecordState.ACQUIRED, "m", False)


@pytest.mark.parametrize(("count", "following"), [(1, RecordState.AVAILABLE), (LIMIT, RecordState.ARCHIVED)])
def test_a_transition_is_not_undone_after_the_lock_has_expired(count: int, following: RecordState) -> None:
    fired: list[AcquisitionLock] = []
    reactor = VirtualReactor()
    locks = AcquisitionLocks(reactor, ExpirationQueue(reactor), fired.append)
    state = acquired(count)
    state.lock = locks.lock(0, 0, 100)
    state.begin(RecordState.ACKNOWLEDGED, LIMIT)
    reactor.run_for(ms=100)
    assert len(fired) == 1
    state.complete(stored=False)
    assert (state.state, state.member_id, state.lock) == (following, "", None)


def test_a_release_after_the_last_delivery_archives() -> None:
    state = acquired(LIMIT)
    assert state.change(RecordState.AVAILABLE, LIMIT)
    assert state.state is RecordState.ARCHIVED
    assert not state.change(RecordState.AVAILABLE, LIMIT)


def test_an_archived_record_stays_archived_when_its_transition_fails() -> None:
    state = acquired()
    state.begin(RecordState.AVAILABLE, LIMIT)
    state.archive()
    state.complete(stored=False)
    assert state.state is RecordState.ARCHIVED


def test_a_batch_that_is_split_keeps_the_time_of_its_lock() -> None:
    fired: list[AcquisitionLock] = []
    reactor = VirtualReactor()
    locks = AcquisitionLocks(reactor, ExpirationQueue(reactor), fired.append)
    state = acquired()
    state.lock = locks.lock(0, 1, 100)
    batch = InFlightBatch(0, 1, state)
    reactor.run_for(ms=60)
    batch.split(locks)
    assert batch.whole is None
    assert [offset for offset, _ in batch.states_between(-5, 5)] == [0, 1]
    reactor.run_for(ms=39)
    assert fired == []
    reactor.run_for(ms=1)
    assert [(lock.first_offset, lock.last_offset) for lock in fired] == [(0, 0), (1, 1)]
