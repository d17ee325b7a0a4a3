"""The retry of a stored batch is stored again, without an error."""

from __future__ import annotations

from tests.broker_sim.defects.lost_response import GOOD, lost_response
from tests.broker_sim.defects.stage import with_and_without


def test_the_retry_of_a_stored_batch_is_stored_again() -> None:
    broken, good = with_and_without(lost_response, "dedup-none")
    assert broken == ([(0, "a"), (1, "b"), (2, "b"), (3, "c")], [0, 2, 3])
    assert good == GOOD
