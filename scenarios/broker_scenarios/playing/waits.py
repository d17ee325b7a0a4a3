"""The waits of scripts: for a time, rules, acknowledged records, events of the journal, and other clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.language.steps import Wait
    from broker_scenarios.playing.stage import Stage
    from broker_sim.faults.gates import EventGate
    from sim_runtime.interfaces import IReactor

__all__ = ["wait_for"]

_LOOK_EVERY_MS: Final = 5


async def wait_for(stage: Stage, reactor: IReactor, wait: Wait) -> str | None:
    """Wait for all that is given. Returns None, or what was still missing after `timeout_ms`."""
    if wait.ms:
        await sleep(reactor, wait.ms)
    missing = [*_conditions(stage, wait)]
    deadline_s = reactor.seconds() + wait.timeout_ms / 1000
    while missing := [condition for condition in missing if not condition[1]()]:
        if reactor.seconds() >= deadline_s:
            return f"waited {wait.timeout_ms:g} ms for {' and '.join(text for text, _ in missing)} (timeout_ms)"
        await sleep(reactor, _LOOK_EVERY_MS)
    return None


def _conditions(stage: Stage, wait: Wait) -> list[tuple[str, Callable[[], bool]]]:
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
    if wait.event is not None:
        wanted = wait.event
        text = f"{wanted.count} {wanted.kind.__name__} events with {dict(wanted.fields)}"
        conditions.append((text, _Events(stage, wait.event).came))
    return conditions


class _Events:
    """Counts the events of a gate from the beginning of the run on."""

    def __init__(self, stage: Stage, wanted: EventGate) -> None:
        self._stage = stage
        self._wanted = wanted
        self._seen = 0
        self._left = wanted.count

    def came(self) -> bool:
        """Return True if there were as many as are wanted."""
        events = self._stage.target.journal.events
        self._left -= sum(self._wanted.fits(events[place]) for place in range(self._seen, len(events)))
        self._seen = len(events)
        return self._left <= 0
