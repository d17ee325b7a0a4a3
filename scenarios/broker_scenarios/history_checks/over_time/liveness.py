"""liveness: a healthy partition serves no operation within the claimed time after the last fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call

__all__ = ["check", "is_too_short"]


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each partition."""
    deadline_ms = facts.claims.liveness_deadline_ms
    if deadline_ms is None or is_too_short(facts):
        return
    begin_ms = _last_fault_ms(facts)
    served: set[str] = set()
    for call in facts.calls:
        if call.is_ok and call.completed is not None and begin_ms <= call.completed.t_ms <= begin_ms + deadline_ms:
            served |= _keys_of(call)
    keys = facts.keys if facts.claims.healthy is None else facts.claims.healthy
    for key in keys:
        if key not in served:
            yield Found(name="liveness", key=key)


def is_too_short(facts: Facts) -> bool:
    """Return True if the history ends before the claimed time is over: nothing can be judged."""
    deadline_ms = facts.claims.liveness_deadline_ms
    return deadline_ms is not None and facts.end_ms < _last_fault_ms(facts) + deadline_ms


def _last_fault_ms(facts: Facts) -> float:
    begin_ms = min((op.t_ms for op in facts.ops), default=0)
    return max((fault.to_ms for fault in facts.claims.faults), default=begin_ms)


def _keys_of(call: Call) -> set[str]:
    keys: set[str] = set()
    for mop in call.result:
        if mop[0] == "send":
            keys.add(mop[1])
        elif mop[0] == "poll" and len(mop) == 2:
            keys |= set(mop[1])
    return keys
