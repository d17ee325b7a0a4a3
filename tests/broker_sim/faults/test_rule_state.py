from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from broker_sim.faults import rule_state
from broker_sim.faults.rule import OneOf, Range
from broker_sim.faults.rule_state import Decisions

if TYPE_CHECKING:
    import pytest


def test_draws_are_recorded_and_replayed_by_name() -> None:
    made = Decisions(Random(1), {})
    drawn = [made.draw("a", Range(0, 1)), made.draw("b", OneOf((4, 5))), made.draw("c", 7)]
    assert made.by_name() == {"a": drawn[0], "b": drawn[1]}
    again = Decisions(Random(1), {"a": 0.25})
    assert [again.draw("a", Range(0, 1)), again.draw("b", OneOf((4, 5)))] == [0.25, drawn[1]]
    assert again.take_latest() == f"a 0.25, b {drawn[1]:g}"
    assert again.take_latest() == ""


def test_a_share_is_recorded_as_the_numbers_that_it_selects() -> None:
    made = Decisions(Random(1), {})
    selected = tuple(match for match in range(1, 50) if made.selects(match, 0.3))
    assert made.by_name() == {"share": selected}
    again = Decisions(Random(2), {"share": selected})
    assert tuple(match for match in range(1, 50) if again.selects(match, 0.3)) == selected


def test_so_many_draws_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_state, "DECISIONS_LIMIT", 3)
    made = Decisions(Random(1), {})
    for number in range(5):
        made.draw(f"a@{number}", Range(0, 1))
    assert (len(made.by_name()), made.dropped) == (3, 2)
