"""poll-skip and nonmonotonic-poll: a process reads on behind, or in front of, where it had stopped.

A failed poll, and one with an unknown outcome, is compared and does not move the position. An assignment keeps the
positions of the keys that stay; a seek, a subscription, and leaving the set forget them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.operations import polled_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process, Value

SUBSCRIBED = "the process subscribes: a rebalance moves positions"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each jump."""
    positions: dict[Process, dict[str, tuple[Value, Call]]] = {}
    subscribed: set[Process] = set()
    for call in sorted(facts.calls, key=_end):
        own = positions.setdefault(call.process, {})
        if call.f in {"assign", "subscribe"}:
            if call.outcome is not EventType.FAIL:
                _forget(call, own)
                if call.f == "subscribe":
                    subscribed.add(call.process)
                else:
                    subscribed.discard(call.process)
            continue
        firsts: dict[str, tuple[Value, Value]] = {}
        for key, pairs in polled_of(call):
            if pairs:
                first = firsts.get(key, (pairs[0][1], None))[0]
                firsts[key] = (first, pairs[-1][1])
        for key, (first, last) in firsts.items():
            if key in own:
                yield from _compare(facts, key, own[key], (first, call), is_subscribed=call.process in subscribed)
            if call.is_ok:
                own[key] = (last, call)


def _compare(
    facts: Facts, key: str, before: tuple[Value, Call], after: tuple[Value, Call], *, is_subscribed: bool
) -> Iterator[Found]:
    distance = facts.distance(key, before[0], after[0])
    allowed = SUBSCRIBED if is_subscribed else None
    calls = [before[1], after[1]]
    if distance > 1:
        skipped = facts.between(key, before[0], after[0])
        yield Found(
            name="poll-skip", values=skipped, allowed=allowed or _lost(facts, key, skipped), calls=calls, key=key
        )
    elif distance < 1:
        yield Found(name="nonmonotonic-poll", allowed=allowed, calls=calls, key=key)


def _lost(facts: Facts, key: str, skipped: list[Value]) -> str | None:
    """The reason why every skipped value may be missing: each was lost, and its loss is permitted."""
    reasons: list[str | None] = []
    for value in skipped:
        offset = max((write.offset for write in facts.writes_of.get(value, ())), default=-1)
        reasons.append(None if facts.is_read(key, value) else facts.loss_allowance(key, value, offset))
    return reasons[0] if reasons and all(reasons) else None


def _forget(call: Call, positions: dict[str, tuple[Value, Call]]) -> None:
    kept: set[str] = set()
    for mop in call.result:
        if mop[0] == "assign":
            kept = set(mop[1])
    sought = {key for mop in call.result if mop[0] == "seek" and len(mop) > 1 for key in mop[1]}
    for key in list(positions):
        if key not in kept or key in sought:
            del positions[key]


def _end(call: Call) -> int:
    return call.invoked.index if call.completed is None else call.completed.index
