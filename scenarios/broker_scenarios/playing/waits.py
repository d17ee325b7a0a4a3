"""The waits of scripts: for a time, rules, acknowledged records, events, other clients, and the end of faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.control.events import Detail, ProduceCompleted
from broker_sim.control.journal import EVENT_KINDS
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_scenarios.language.steps import Wait
    from broker_scenarios.playing.stage import Stage
    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.faults.gates import EventGate
    from sim_runtime.interfaces import IReactor

__all__ = ["awaited", "wait_for"]

_STEP_US: Final = 5_000
"""A wait looks at its conditions at multiples of this after its start."""
_LONGEST_US: Final = 1_000_000
"""The time between two looks while nothing is noted that could matter."""
_KINDS_OF_INTEREST: Final = (
    *(kind for kind in EVENT_KINDS.values() if kind.detail is Detail.CLUSTER),
    ProduceCompleted,
)
"""The events that change a condition."""
_HEALED: Final = "the end of all faults and every replica in sync"
_Condition: TypeAlias = tuple[str, Callable[[], bool]]
"""A text for reports, and the condition."""


async def wait_for(stage: Stage, reactor: IReactor, wait: Wait) -> str | None:
    """Wait for all that is given. Returns None, or what was still missing after `timeout_ms`."""
    if wait.ms:
        await sleep(reactor, wait.ms)
    events = None if wait.event is None else _Events(stage.target.journal, wait.event)
    try:
        looks = _Looks(stage, _conditions(stage, wait, events), reactor, wait.timeout_ms)
        if events is not None:
            events.notify = looks.look_soon
        missing = await looks.met
    finally:
        if events is not None:
            events.unsubscribe()
    if not missing:
        return None
    return f"waited {wait.timeout_ms:g} ms for {' and '.join(text for text, _ in missing)} (timeout_ms)"


class _Looks:
    """Looks at conditions until each was true once. `met` fires with those that were not after `timeout_ms`.

    A look follows each event that could matter, at the next multiple of a step: to look at every step would be the
    largest part of a run that waits for the end of its faults. Cancelling `met` ends the looks.
    """

    def __init__(self, stage: Stage, conditions: list[_Condition], reactor: IReactor, timeout_ms: float) -> None:
        self._conditions = conditions
        self._reactor = reactor
        self._timeout_us: Final = round(timeout_ms * 1000)
        self._started_s: Final = reactor.seconds()
        self._is_soon = False
        self._timer: IDelayedCall | None = None
        self.met: Final[Deferred[list[_Condition]]] = Deferred(lambda _: self._end())
        self._stop: Final = (
            stage.target.journal.subscribe(self._note_event, *_KINDS_OF_INTEREST),
            stage.target.faults.watch(self.look_soon),
            stage.watch_ends(self.look_soon),
        )
        self._look()

    def _look(self) -> None:
        self._is_soon = False
        self._timer = None
        self._conditions = [condition for condition in self._conditions if not condition[1]()]
        waited_us = self._waited_us()
        if self._conditions and waited_us < self._timeout_us:
            self._look_at(min(_end_of_step(waited_us + _LONGEST_US), _end_of_step(self._timeout_us)))
        else:
            self._end()
            self.met.callback(self._conditions)

    def _note_event(self, _: Event) -> None:
        self.look_soon()

    def look_soon(self) -> None:
        """Look at the end of the present step."""
        if self._timer is not None and not self._is_soon:
            self._is_soon = True
            self._timer.cancel()
            self._look_at(_end_of_step(self._waited_us()))

    def _look_at(self, waited_us: int) -> None:
        self._timer = self._reactor.callLater(max(0, waited_us - self._waited_us()) / 1e6, self._look)

    def _waited_us(self) -> int:
        return round((self._reactor.seconds() - self._started_s) * 1e6)

    def _end(self) -> None:
        for stop in self._stop:
            stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _end_of_step(waited_us: int) -> int:
    """Return the first multiple of a step that is not before."""
    return -(-waited_us // _STEP_US) * _STEP_US


def awaited(wait: Wait) -> list[str]:
    """Return the text of each condition of a wait."""
    texts = [] if not wait.ms else [f"{wait.ms:g} ms"]
    if wait.rule is not None:
        texts.append(_text_of_rule(wait))
    if wait.acked is not None:
        texts.append(_text_of_acked(wait))
    if wait.client is not None:
        texts.append(_text_of_client(wait))
    if wait.event is not None:
        texts.append(_text_of_event(wait.event))
    if wait.healed:
        texts.append(_HEALED)
    return texts


def _text_of_rule(wait: Wait) -> str:
    return f"rule {wait.rule!r} to fire {wait.fired} times"


def _text_of_acked(wait: Wait) -> str:
    return f"{wait.acked} acknowledged records"


def _text_of_client(wait: Wait) -> str:
    return f"the end of client {wait.client!r}"


def _text_of_event(wanted: EventGate) -> str:
    return f"{wanted.count} {wanted.kind.__name__} events with {dict(wanted.fields)}"


def _conditions(stage: Stage, wait: Wait, events: _Events | None) -> list[_Condition]:
    progress = stage.target.faults.progress
    conditions: list[_Condition] = []
    rule, acked, client = wait.rule, wait.acked, wait.client
    if rule is not None:
        conditions.append((_text_of_rule(wait), lambda: progress.fired.get(rule, 0) >= wait.fired))
    if acked is not None:
        conditions.append((_text_of_acked(wait), lambda: progress.acked_records >= acked))
    if client is not None:
        conditions.append((_text_of_client(wait), lambda: stage.has_ended(client)))
    if events is not None:
        conditions.append((events.text, events.came))
    if wait.healed:
        conditions.append((_HEALED, stage.target.faults.is_healed))
    return conditions


class _Events:
    """Counts the events of a gate from the beginning of the run on, until `unsubscribe`."""

    def __init__(self, journal: Journal, wanted: EventGate) -> None:
        self.text: Final = _text_of_event(wanted)
        self._wanted = wanted
        self._left = wanted.count - sum(map(wanted.fits, journal.events))
        self.notify: Callable[[], object] = int
        """Called at every event that fits."""
        self.unsubscribe: Final = journal.subscribe(self._count)

    def _count(self, event: Event) -> None:
        if self._wanted.fits(event):
            self._left -= 1
            self.notify()

    def came(self) -> bool:
        """Return True if there were as many as are wanted."""
        return self._left <= 0
