from __future__ import annotations

from typing import Any

import pytest

from broker_sim.faults.gates import Gate, Waiting
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.progress import Progress


def waiting(when: dict[str, Any]) -> Waiting:
    gate = parse_rule({"name": "r", "act": {"kill": 1}, "when": when}).when
    assert isinstance(gate, Gate)

    def draw(_: str, value: Any) -> float:
        return float(value)

    return Waiting(gate, draw, since_s=0.0)


@pytest.mark.parametrize(
    ("when", "unmet"),
    [
        ({"event": {"kind": "LeaderElected", "count": 2}}, "event LeaderElected, 0 of 2"),
        ({"at_ms": 2500}, "at_ms 2500 is later than the end"),
        ({"acked_records": 5}, ""),
        ({"acked_records": 6}, "acked_records, 5 of 6"),
        ({"acked_share": 0.75}, "acked_share, 5 of 8 records"),
        ({"appended_records": 9, "acked_records": 5}, "appended_records, 7 of 9"),
        ({"appended_batches": 3}, "appended_batches, 2 of 3"),
        ({"after": "crash"}, "after, 'crash' did not fire"),
        ({"fired": {"rule": "back", "times": 3}}, "fired, 1 of 3 times of 'back'"),
        ({"after": "back"}, ""),
    ],
)
def test_the_first_condition_that_does_not_hold_is_named_with_what_was_counted(
    when: dict[str, Any], unmet: str
) -> None:
    progress = Progress()
    progress.acked_records, progress.appended_records, progress.appended_batches = 5, 7, 2
    progress.expected_records = 10
    progress.fired["back"] = 1
    assert progress.unmet(waiting(when), now_s=1.0) == unmet
    assert progress.reached(waiting(when), now_s=1.0) == (not unmet)


def test_a_share_needs_a_load() -> None:
    assert Progress().unmet(waiting({"acked_share": 0.5}), now_s=0.0) == "acked_share needs a load"
