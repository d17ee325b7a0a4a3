from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.checks.analysis import Analysis, by_partition
from broker_scenarios.checks.calls import Send
from broker_scenarios.errors import HistoryError
from broker_scenarios.findings import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.history import HistoryEvent
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


def test_a_send_without_a_partition_is_in_the_lowest_whose_log_holds_it(story: Story) -> None:
    story.send(1).info(1).send(2).info(2).log(1, partition=3).log(1, partition=2).log(1, partition=4)
    recorded = [replace(event, partition=-1) for event in story.history()]
    groups = by_partition(recorded, story.logs())
    assert {place: {event.value_id for event in events} for place, (events, _) in groups.items()} == {
        ("orders", -1): {2},
        ("orders", 2): {1},
        ("orders", 3): set(),
        ("orders", 4): set(),
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda events: [events[0], *events], "orders: process 1 invokes send 0 twice"),
        (lambda events: events[1:], "orders: process 1 completes send 0 without an invoke"),
        (lambda events: [events[0], replace(events[1], type="done")], "send 0: event type 'done' is unknown"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(
    story: Story, change: Callable[[list[HistoryEvent]], list[HistoryEvent]], problem: str
) -> None:
    events = change(story.acked(1).history())
    with pytest.raises(HistoryError, match=problem):
        Analysis.of("orders", 0, events, ())


def test_the_first_completion_in_time_counts_and_an_ok_before_others(story: Story) -> None:
    story.send(1).info(1).ok(1, 7).send(2).fail(2).wait(us=-1_000).ok(2, 8)
    first, second = Analysis.of("orders", 0, story.history(), ()).sends
    assert (first.outcome, first.ack_offset, first.error_code) == (Outcome.UNKNOWN, -1, 7)
    assert (second.outcome, second.ack_offset, second.error_code) == (Outcome.ACKED, 8, 0)
    assert [each.value for each in second.completions] == ["ok", "fail"]
