"""The waits of scripts: for a time, rules, acknowledged records, events, other clients, and the end of faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from twisted.internet.defer import Deferred

from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_scenarios.language.steps import Wait
    from broker_scenarios.playing.stage import Stage
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.faults.gates import EventGate
    from sim_runtime.interfaces import IReactor

__all__ = ["wait_for"]

_LOOK_EVERY_MS: Final = 5
_Condition: TypeAlias = tuple[str, Callable[[], bool]]
"""A text for reports, and the condition."""


async def wait_for(stage: Stage, reactor: IReactor, wait: Wait) -> str | None:
    """Wait for all that is given. Returns None, or what was still missing after `timeout_ms`."""
    if wait.ms:
        await sleep(reactor, wait.ms)
    events = None if wait.event is None else _Events(stage.target.journal, wait.event)
    try:
        missing = await _until_met(_conditions(stage, wait, events), reactor, wait.timeout_ms)
    finally:
        if events is not None:
            events.unsubscribe()
    if not missing:
        return None
    return f"waited {wait.timeout_ms:g} ms for {' and '.join(text for text, _ in missing)} (timeout_ms)"


def _until_met(conditions: list[_Condition], reactor: IReactor, timeout_ms: float) -> Deferred[list[_Condition]]:
    """Fire once each condition was true, with those that were not after `timeout_ms`. Cancelling it removes the timer.

    A run evaluates its conditions thousands of times: a timer that starts again costs less than a coroutine.
    """
    deadline_s = reactor.seconds() + timeout_ms / 1000
    missing = conditions
    timer: IDelayedCall
    met: Deferred[list[_Condition]] = Deferred(lambda _: timer.cancel())

    def evaluate() -> None:
        nonlocal missing, timer
        missing = [condition for condition in missing if not condition[1]()]
        if missing and reactor.seconds() < deadline_s:
            timer = reactor.callLater(_LOOK_EVERY_MS / 1000, evaluate)
        else:
            met.callback(missing)

    evaluate()
    return met


def _conditions(stage: Stage, wait: Wait, events: _Events | None) -> list[_Condition]:
    progress = stage.target.faults.progress
    conditions: list[_Condition] = []
    rule, acked, client = wait.rule, wait.acked, wait.client
    if rule is not None:
        text = f"rule {rule!r} to fire {wait.fired} times"
        conditions.append((text, lambda: progress.fired.get(rule, 0) >= wait.fired))
    if acked is not None:
        conditions.append((f"{acked} acknowledged records", lambda: progress.acked_records >= acked))
    if client is not None:
        conditions.append((f"the end of client {client!r}", lambda: stage.has_ended(client)))
    if events is not None:
        conditions.append((events.text, events.came))
    if wait.healed:
        conditions.append(("the end of all faults and every replica in sync", stage.target.faults.is_healed))
    return conditions


class _Events:
    """Counts the events of a gate from the beginning of the run on, until `unsubscribe`."""

    def __init__(self, journal: Journal, wanted: EventGate) -> None:
        self.text: Final = f"{wanted.count} {wanted.kind.__name__} events with {dict(wanted.fields)}"
        self._wanted = wanted
        self._left = wanted.count - sum(map(wanted.fits, journal.events))
        self.unsubscribe: Final = journal.subscribe(self._count)

    def _count(self, event: Event) -> None:
        self._left -= self._wanted.fits(event)

    def came(self) -> bool:
        """Return True if there were as many as are wanted."""
        return self._left <= 0
