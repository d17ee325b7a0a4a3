"""unresolved: an accepted send without an outcome after flush, close and delivery.timeout.ms.

double-completion: a send with more than one outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call

__all__ = ["check", "open_sends"]


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each send."""
    for call in facts.calls:
        if call.completions > 1:
            yield Found(name="double-completion", values=_values(call), calls=[call])
    for call, is_over in open_sends(facts):
        if is_over:
            yield Found(name="unresolved", values=_values(call), calls=[call])


def open_sends(facts: Facts) -> Iterator[tuple[Call, bool]]:
    """The sends without an outcome whose process has not crashed, and whether they should have one by now."""
    crashed = {call.process for call in facts.calls if call.f == "crash"}
    ended: dict[object, int] = {}
    for call in facts.calls:
        if call.f in {"flush", "close"} and call.is_ok and call.completed is not None:
            ended[call.process] = call.completed.index
    for call in facts.calls:
        if call.f == "send" and call.completed is None and call.process not in crashed:
            was_flushed = ended.get(call.process, -1) > call.invoked.index
            is_late = facts.end_ms - call.invoked.t_ms >= facts.claims.delivery_timeout_ms
            yield call, was_flushed or is_late


def _values(call: Call) -> list[object]:
    return [mop[2][1] if isinstance(mop[2], list) else mop[2] for mop in call.invoked.mops if mop[0] == "send"]
