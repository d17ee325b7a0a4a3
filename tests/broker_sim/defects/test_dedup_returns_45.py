"""The retry of a stored batch, whose response was lost, at leaders that know it in different wrong ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def shown(defects: Sequence[str]) -> tuple[list[tuple[int, str]], list[int]]:
    stage = Stage(defects)
    stage.lose_response("Produce", nth=2)
    outcomes = stage.sent(stage.producer(), "a", "b", "c")
    assert [each.error for each in outcomes] == [None, None, None]
    return stage.stored(), [each.offset for each in outcomes]


GOOD = ([(0, "a"), (1, "b"), (2, "c")], [0, 1, 2])


def test_45_for_a_duplicate_doubles_it() -> None:
    broken, good = with_and_without(shown, "dedup-returns-45")
    assert broken == ([(0, "a"), (1, "b"), (2, "b"), (3, "c")], [0, 2, 3])
    assert good == GOOD
