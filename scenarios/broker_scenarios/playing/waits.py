"""The waits of scripts: for a time, rules, acknowledged records, events, other clients, and the end of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.language.steps import Wait
    from broker_scenarios.playing.stage import Stage
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.faults.gates import EventGate
    from sim_runtime.interfaces import IReactor

__all__ = ["wait_for"]

_LOOK_EVERY_MS: Final = 5


async def wait_for(stage: Stage, reactor: IReactor, wait: Wait) -> str | None:
    """Wait for all that is given. Returns None, or what was still missing after `timeout_ms`."""
    if wait.ms:
        await sleep(reactor, wait.ms)
    events = None if wait.event is None else _Events(stage.target.journal, wait.event)
    try:
        missing = [*_conditions(stage, wait, events)]
        deadline_s = reactor.seconds() + wait.timeout_ms / 1000
        while missing := [condition for condition in missing if not condition[1]()]:
            if reactor.seconds() >= deadline_s:
                return f"waited {wait.timeout_ms:g} ms for {' and '.join(text for text, _ in missing)} (timeout_ms)"
            await sleep(reactor, _LOOK_EVERY_MS)
    finally:
        if events is not None:
            events.unsubscribe()
    return None


def _conditions(stage: Stage, wait: Wait, events: _Events | None) -> list[tuple[str, Callable[[], bool]]]:
    progress = stage.target.faults.progress
    conditions: list[tuple[str, Callable[[], bool]]] = []
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
