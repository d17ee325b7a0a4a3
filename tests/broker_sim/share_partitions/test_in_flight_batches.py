from __future__ import annotations

from broker_sim.share_partitions.in_flight_batch import InFlightBatch
from broker_sim.share_partitions.in_flight_batches import InFlightBatches
from broker_sim.share_partitions.in_flight_state import InFlightState
from broker_sim.share_partitions.record_states import RecordState


def batch(first: int, last: int) -> InFlightBatch:
    return InFlightBatch(first, last, InFlightState(RecordState.AVAILABLE, 0, ""))


def test_batches_are_found_by_offset() -> None:
    batches = InFlightBatches()
    for first in (20, 0, 10):
        batches.add(batch(first, first + 4))
    assert [each.first_offset for each in batches] == [0, 10, 20]
    floor, following = batches.floor(17), batches.following(10)
    assert floor is not None
    assert following is not None
    assert (floor.first_offset, following.first_offset) == (10, 20)
    assert batches.floor(-1) is None
    assert [each.first_offset for each in batches.between(1, 20)] == [10, 20]
    batches.remove_before(11)
    assert (len(batches), batches.first.first_offset, batches.last.first_offset) == (1, 20, 20)
