"""The retry of a stored batch is acknowledged with the offset 0."""

from __future__ import annotations

from tests.broker_sim.defects.lost_response import GOOD, lost_response
from tests.broker_sim.defects.stage import with_and_without


def test_two_records_are_acknowledged_at_offset_0() -> None:
    broken, good = with_and_without(lost_response, "dedup-returns-offset-0")
    assert broken == ([(0, "a"), (1, "b"), (2, "c")], [0, 0, 2])
    assert good == GOOD
