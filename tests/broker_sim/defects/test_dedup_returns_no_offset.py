"""The retry of a stored batch is acknowledged without an offset."""

from __future__ import annotations

from tests.broker_sim.defects.lost_response import GOOD, lost_response
from tests.broker_sim.defects.stage import with_and_without


def test_a_record_is_acknowledged_without_an_offset() -> None:
    broken, good = with_and_without(lost_response, "dedup-returns-no-offset")
    assert broken == ([(0, "a"), (1, "b"), (2, "c")], [0, -1, 2])
    assert good == GOOD
