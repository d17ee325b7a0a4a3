"""The retry of a stored batch gets 46, which the producer takes for a success."""

from __future__ import annotations

from tests.broker_sim.defects.lost_response import GOOD, lost_response
from tests.broker_sim.defects.stage import with_and_without


def test_the_offset_of_a_retried_batch_is_unknown() -> None:
    broken, good = with_and_without(lost_response, "dedup-returns-46")
    assert broken == ([(0, "a"), (1, "b"), (2, "c")], [0, -1, 2])
    assert good == GOOD
