"""Two producers with one transactional id: the first one pauses in a transaction and continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


def committed(defects: Sequence[str]) -> tuple[bool, list[str]]:
    """Return whether the first producer's record is acknowledged, and what is read committed."""
    stage = Stage(defects)
    first = stage.transactional()
    first.transactional.begin_transaction()
    stage.sent(first, "first of the zombie")
    second = stage.transactional()
    second.transactional.begin_transaction()
    stage.sent(second, "of its successor")
    [late] = stage.sent(first, "second of the zombie")
    stage.call(second.transactional.commit_transaction())
    read = stage.read(**{"isolation.level": "read_committed"})
    stage.close()
    return late.error is None, read


def test_a_record_of_a_zombie_is_committed_with_its_successors_transaction() -> None:
    broken, good = with_and_without(committed, "old-epochs-write")
    assert broken == (True, ["of its successor", "second of the zombie"])
    assert good == (False, ["of its successor"])
