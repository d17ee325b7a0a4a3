"""key-order: a process reads the values of one message key in another order than they were sent, over partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process, Value

UNCLAIMED = "key-order is not claimed"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each pair of neighbours of one writer. A value that is read again is no disorder."""
    claims = facts.claims
    if not claims.keys:
        return
    sent: dict[Value, tuple[Process, int]] = {}
    for place, write in enumerate(facts.writes):
        if write.call.outcome is not EventType.FAIL:
            sent.setdefault(write.value, (write.call.process, place))
    last: dict[tuple[Process, str, Process], tuple[int, Call]] = {}
    seen: set[tuple[Process, Value]] = set()
    allowed = None if claims.key_order else UNCLAIMED
    for read in sorted((each for each in facts.reads if each.call.is_ok), key=lambda each: _end(each.call)):
        for _, value in read.pairs:
            message_key = claims.keys.get(value)
            if message_key is None or value not in sent or (read.call.process, value) in seen:
                continue
            seen.add((read.call.process, value))
            writer, place = sent[value]
            at = (read.call.process, message_key, writer)
            before = last.get(at)
            if before is not None and place < before[0]:
                yield Found(name="key-order", allowed=allowed, calls=[before[1], read.call], key=read.key)
            last[at] = (place, read.call)


def _end(call: Call) -> int:
    return call.invoked.index if call.completed is None else call.completed.index
