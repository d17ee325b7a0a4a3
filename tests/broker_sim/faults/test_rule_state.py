from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.faults import rule_state
from broker_sim.faults.rule import OneOf, Range
from broker_sim.faults.rule_state import Decisions
from sim_runtime.random_streams import RandomStreams

if TYPE_CHECKING:
    import pytest


def test_draws_are_recorded_and_replayed_by_name() -> None:
    made = Decisions(RandomStreams(1).stream, {})
    drawn = [made.draw("a", Range(0, 1)), made.draw("b", OneOf((4, 5))), made.draw("c", 7)]
    assert made.by_name() == {"a": drawn[0], "b": drawn[1]}
    again = Decisions(RandomStreams(1).stream, {"a": 0.25})
    assert [again.draw("a", Range(0, 1)), again.draw("b", OneOf((4, 5)))] == [0.25, drawn[1]]
    assert again.take_latest() == f"a 0.25, b {drawn[1]:g}"
    assert again.take_latest() == ""


def test_no_draw_of_another_name_shifts_a_draw() -> None:
    made = Decisions(RandomStreams(1).stream, {})
    first = [made.draw("act.delay_ms@1", Range(0, 1)), made.draw("act.delay_ms@2", Range(0, 1))]
    other = Decisions(RandomStreams(1).stream, {})
    other.draw("when.at_ms", Range(0, 1))
    second = [
        other.draw("act.delay_ms@1", Range(0, 1)),
        other.selects(1, 0.5),
        other.draw("act.delay_ms@2", Range(0, 1)),
    ]
    assert [second[0], second[2]] == first
    assert first[0] != first[1]


def test_a_share_is_recorded_as_the_numbers_that_it_selects() -> None:
    made = Decisions(RandomStreams(1).stream, {})
    selected = tuple(match for match in range(1, 50) if made.selects(match, 0.3))
    assert made.by_name() == {"share": selected}
    again = Decisions(RandomStreams(2).stream, {"share": selected})
    assert tuple(match for match in range(1, 50) if again.selects(match, 0.3)) == selected


def test_so_many_draws_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_state, "DECISIONS_LIMIT", 3)
    made = Decisions(RandomStreams(1).stream, {})
    for number in range(5):
        made.draw(f"a@{number}", Range(0, 1))
    assert (len(made.by_name()), made.dropped) == (3, 2)
