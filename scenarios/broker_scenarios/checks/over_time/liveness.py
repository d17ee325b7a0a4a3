"""liveness: no operation on a healthy partition succeeds within `liveness.deadline.ms` after the last fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["covered_from_us", "liveness"]


def liveness(history: WholeHistory) -> Iterator[Finding]:
    """Find partitions that are not available again in time; one finding per partition."""
    deadline_us = history.limits.liveness_deadline_us
    if deadline_us is None:
        return
    start_us = covered_from_us(history)
    if history.end_us < start_us + deadline_us:
        return
    healthy = history.limits.healthy
    waiting = dict.fromkeys(sorted(history.analyses) if healthy is None else healthy)
    for call in history.calls:
        if call.ok and start_us <= call.completed_us <= start_us + deadline_us:
            for key in _keys_of(call):
                waiting.pop(key, None)
    for key in waiting:
        detail = f"no operation on {key} succeeds within {deadline_us / 1000:g} ms after {start_us / 1000:g} ms"
        yield history.finding(FindingKind.LIVENESS, key, (), detail)


def covered_from_us(history: WholeHistory) -> int:
    """The end of the last fault, else the start of the history."""
    last_fault_us = history.limits.last_fault_us
    return history.start_us if last_fault_us is None else last_fault_us


def _keys_of(call: Call) -> Iterator[str]:
    yield from (send.key for send in call.sends)
    yield from (key for key, _ in call.polls)
    if call.details is not None:
        yield from call.details.assigned
        yield from call.details.offsets or ()
