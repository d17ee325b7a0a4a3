from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.checks.analysis import Analysis
from broker_scenarios.checks.calls import Send
from broker_scenarios.findings import Outcome

if TYPE_CHECKING:
    from tests.scenarios.conftest import Story


def test_an_acknowledgement_shows_its_offset_unless_a_replica_cut_it_off(story: Story) -> None:
    story.acked(1, 2, 3).truncated(2, first_offset=1).truncated(3, first_offset=7)
    observed = story.analysis().observed
    assert [observed.offsets_of(value) for value in (1, 2, 3)] == [[0], [], [2]]


@pytest.mark.parametrize(
    ("offset", "start", "log_known", "place"),
    [(5, 6, True, 5), (5, 5, True, None), (5, 4, True, None), (5, 4, False, 5)],
)
def test_a_record_that_the_log_lacks_has_its_place_only_below_the_start(
    offset: int, start: int, log_known: bool, place: int | None
) -> None:
    send = Send(process=0, index=0, value_id=1, invoke_us=0, outcome=Outcome.ACKED, ack_offset=offset)
    analysis = Analysis(topic="orders", partition=0, sends=[send], log_start=start, log_known=log_known)
    assert analysis.place_of(1) == place
    analysis.stored[1] = [3, 9]
    assert analysis.place_of(1) == 3
