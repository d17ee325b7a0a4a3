"""consume-counts: a record that ok operations of one group, or of one subscribed process, polled more than once.

Kafka delivers at least once: only a claim of exactly-once processing forbids it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.operations import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.operations import Process, Value

__all__ = ["consume_counts"]


def consume_counts(history: WholeHistory) -> Iterator[Finding]:
    """Find records that were consumed again; one finding per group or process and value."""
    subscribed: dict[Process, str | None] = {}
    counted: dict[tuple[str, str], dict[Value, list[Call]]] = {}
    for call in history.calls:
        if not call.ok:
            continue
        if call.f is Function.SUBSCRIBE:
            subscribed[call.process] = call.group
        elif call.f is Function.ASSIGN:
            subscribed.pop(call.process, None)
        elif call.polls and call.process in subscribed:
            group = call.group or subscribed[call.process]
            consumer = f"process {call.process}" if group is None else f"group {group}"
            for key, pairs in call.polls:
                counts = counted.setdefault((consumer, key), {})
                for _, value in pairs:
                    counts.setdefault(value, []).append(call)
    for (consumer, key), counts in counted.items():
        for value, calls in counts.items():
            if len(calls) > 1:
                detail = f"{consumer} polled it {len(calls)} times"
                yield history.finding(FindingKind.CONSUME_COUNTS, key, calls, detail, values=(value,))
