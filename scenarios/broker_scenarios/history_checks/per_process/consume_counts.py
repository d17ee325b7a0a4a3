"""consume-counts: a value that one subscribed process, or one group, has polled successfully more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process, Value

ONCE = "exactly-once is not claimed: records may be consumed more than once"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value of a group, or of a subscribed process without one."""
    subscribed: dict[Process, str | None] = {}
    counts: dict[tuple[Any, str, Value], list[Call]] = {}
    reads_of: dict[int, list[tuple[str, Value]]] = {}
    for read in facts.reads:
        reads_of.setdefault(id(read.call), []).extend((read.key, value) for _, value in read.pairs)
    for call in facts.calls:
        if call.f == "subscribe":
            subscribed[call.process] = call.group
        elif call.f == "assign":
            subscribed.pop(call.process, None)
        elif call.is_ok and call.process in subscribed:
            group = call.group or subscribed[call.process]
            consumer = ("process", call.process) if group is None else ("group", group)
            for key, value in reads_of.get(id(call), ()):
                counts.setdefault((consumer, key, value), []).append(call)
    allowed = None if facts.claims.exactly_once else ONCE
    for (_, key, value), calls in counts.items():
        if len(calls) > 1:
            yield Found(name="consume-counts", values=[value], allowed=allowed, calls=calls, key=key)
