"""The gates that rules wait for. They are compared when an event counts, a rule fires, or a time has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.faults.gates import Waiting
from broker_sim.faults.progress import COUNTED, ROUNDING_S, Progress
from broker_sim.faults.rule_state import RuleState, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IReactorTime

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.faults.gates import Gate

__all__ = ["WaitingGates"]

_LOOK_EVERY_MS: Final = 100
"""How often a gate that waits for `in_sync` alone looks."""


@dataclass(frozen=True, slots=True)
class _Entry:
    waiting: Waiting
    state: RuleState
    opens: bool
    """True for a `when`."""


class WaitingGates:
    """Calls `reached` with the rule, and True for its `when`, once a gate and its delay are over.

    A gate that needs the cluster in sync opens only while `in_sync` returns True: of several, one at a time.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        reactor: IReactorTime,
        in_sync: Callable[[], bool],
        reached: Callable[[RuleState, bool], None],
    ) -> None:
        self.progress = Progress()
        self._reactor = reactor
        self._in_sync = in_sync
        self._reached = reached
        self._entries: list[_Entry] = []
        self._event_gates: list[Waiting] = []
        self._looks_again = False
        self._journal = journal
        journal.subscribe(self._count_event, *COUNTED)

    def add(self, gate: Gate, state: RuleState, *, opens: bool) -> None:
        """Wait for a gate of a rule."""
        if gate.event is not None:
            self._journal.add_kind(self._count_event, gate.event.kind)
        key = "when" if opens else "until"
        waiting = Waiting(gate, lambda name, value: state.draw(key, name, value), self._reactor.seconds())
        self._entries.append(_Entry(waiting, state, opens))
        self._sort()
        self._check_at(waiting)
        self.check()

    def remove(self, state: RuleState) -> None:
        """Wait for no gate of a rule any more."""
        self._entries = [entry for entry in self._entries if entry.state is not state]
        self._sort()

    def unmet(self, state: RuleState) -> str:
        """Return the first condition of a rule's `when` that does not hold, with what was counted; may be empty."""
        now_s = self._reactor.seconds()
        found = (self.progress.unmet(each.waiting, now_s) for each in self._entries if each.state is state)
        return next(found, "")

    def start_load(self) -> None:
        """Note that the load begins now: `at_ms` counts from here."""
        self.progress.load_start_s = self._reactor.seconds()
        for entry in self._entries:
            self._check_at(entry.waiting)

    def _count_event(self, event: Event) -> None:
        if not self._entries:
            self.progress.count(event)
            return
        reached = self.progress.count(event)
        for gate in self._event_gates:
            reached = gate.count(event) or reached
        if reached:
            self.check()

    def check(self) -> None:
        """Compare every gate: those that are reached wait for their delay alone."""
        if not self._entries:
            return
        now_s = self._reactor.seconds()
        reached = [entry for entry in self._entries if self.progress.reached(entry.waiting, now_s)]
        if any(entry.waiting.gate.in_sync for entry in reached) and not self._in_sync():
            reached = [entry for entry in reached if not entry.waiting.gate.in_sync]
            self._look_again()
        if not reached:
            return
        self._entries = [entry for entry in self._entries if entry not in reached]
        self._sort()
        for entry in reached:
            if entry.opens:
                entry.state.status = Status.DUE
            # In the next loop iteration at the earliest: a gate is reached in the middle of an append or a response.
            self._reactor.callLater(entry.waiting.delay_ms / 1000, self._delay_over, entry)

    def _delay_over(self, entry: _Entry) -> None:
        if entry.waiting.gate.in_sync and not entry.state.was_opened and not self._in_sync():
            entry.state.status = Status.WAITING
            self._entries.append(entry)
            self._look_again()
        else:
            self._reached(entry.state, entry.opens)

    def _look_again(self) -> None:
        if not self._looks_again:
            self._looks_again = True
            self._reactor.callLater(_LOOK_EVERY_MS / 1000, self._look)

    def _look(self) -> None:
        self._looks_again = False
        self.check()

    def _sort(self) -> None:
        self._event_gates = [entry.waiting for entry in self._entries if entry.waiting.left]

    def _check_at(self, waiting: Waiting) -> None:
        """Check the gates at the time of an `at_ms`, unless it is over: its own check follows then."""
        if waiting.at_ms is not None:
            left_s = self.progress.due_s(waiting) - self._reactor.seconds()
            self._reactor.callLater(max(0.0, left_s) + ROUNDING_S, self.check)
