"""Three records, each sent when the one before has its outcome; the response to the second one is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

GOOD = ([(0, "a"), (1, "b"), (2, "c")], [0, 1, 2])


def lost_response(defects: Sequence[str]) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the stored records, and the offsets of the acknowledgements."""
    stage = Stage(defects)
    stage.lose_response("Produce", nth=2)
    outcomes = stage.sent(stage.producer(), "a", "b", "c")
    assert [each.error for each in outcomes] == [None, None, None]
    stage.close()
    return stage.stored(), [each.offset for each in outcomes]
