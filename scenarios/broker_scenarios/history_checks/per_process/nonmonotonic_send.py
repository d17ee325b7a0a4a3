"""nonmonotonic-send: a process's later send to a partition lies in front of an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.history_checks.per_process.sends_in_one_call import REORDERED, may_reorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.history_checks.facts import Write
    from broker_scenarios.operations import Process


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each pair of neighbours among the sends that succeeded or whose outcome is unknown."""
    last: dict[tuple[Process, str], Write] = {}
    for write in facts.writes:
        if write.call.outcome is EventType.FAIL:
            continue
        at = (write.call.process, write.key)
        before = last.get(at)
        is_other = before is not None and before.call is not write.call
        if before is not None and is_other and facts.distance(write.key, before.value, write.value) < 1:
            allowed = _allowed(facts, before, write)
            yield Found(name="nonmonotonic-send", allowed=allowed, calls=[before.call, write.call], key=write.key)
        last[at] = write


def _allowed(facts: Facts, before: Write, after: Write) -> str | None:
    """A reordering is permitted if the earlier send was not acknowledged before the later one began."""
    if not may_reorder(facts):
        return None
    completed = before.call.completed
    is_acked = completed is not None and before.call.is_ok and completed.index < after.call.invoked.index
    return None if is_acked else REORDERED
