"""The fault engine: opens and closes rules as gates are reached, strikes what fits, and reports what never did.

The broker asks it at the phases of `interception`; the journal tells it of progress. It does nothing by the wall clock
and draws from each rule's own random stream, so that a virtual run repeats itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.control.events import NO_BROKER, RuleFired, RuleReleased
from broker_sim.faults.action_context import Strike
from broker_sim.faults.grammar import RuleError
from broker_sim.faults.interception import Phase
from broker_sim.faults.progress import Progress
from broker_sim.faults.rule import ActiveController, KilledBy, LeaderOf, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from twisted.internet.interfaces import IReactorTime

    from broker_sim.control.events import Event
    from broker_sim.faults.action_context import FaultTarget
    from broker_sim.faults.interception import FaultPoint, Interception
    from broker_sim.faults.rule import BrokerRef, DrawnGate, Rule
    from broker_sim.faults.slow_disks import SlowDisks
    from protocol_specs.api_key import ApiKey
    from sim_runtime.random_streams import RandomStreams

HELD_REQUESTS_LIMIT: Final = 100_000
"""How many requests all rules together may hold; one more goes on, and the rule says so in its report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReport:
    """What became of one rule. `problem` says why it must fail the run; None when it did what it should."""

    name: str
    act: str
    struck: int
    matched: int
    optional: bool
    problem: str | None


class _RuleState:
    __slots__ = (
        "broker",
        "error",
        "held",
        "matched",
        "near",
        "near_text",
        "open",
        "opened",
        "random",
        "rule",
        "struck",
        "victim",
    )

    def __init__(self, rule: Rule, random: Random) -> None:
        self.rule = rule
        self.random = random
        self.open = False
        self.opened = False
        self.broker: int | None = None
        self.struck = 0
        self.matched = 0
        self.near = -1
        self.near_text: str | None = None
        self.victim: int | None = None
        self.held: list[Deferred[None]] = []
        self.error: str | None = None

    def miss(self, fitted: int, text: str) -> None:
        if fitted > self.near:
            self.near, self.near_text = fitted, text


class FaultEngine:
    """All rules of a cluster."""

    def __init__(self, *, cluster: FaultTarget, reactor: IReactorTime, streams: RandomStreams) -> None:
        self.open_phases: frozenset[Phase] = frozenset()
        self._watchers: dict[Callable[[], None], None] = {}
        self.progress = Progress()
        self._cluster = cluster
        self._reactor = reactor
        self._streams = streams
        self._rules: dict[str, _RuleState] = {}
        self._waiting: list[tuple[DrawnGate, _RuleState, bool]] = []
        self._by_phase: dict[Phase, list[_RuleState]] = {}
        self._held = 0
        self.slow_disks: SlowDisks | None = None
        """Log directories that take their time, None while none ever has."""
        cluster.journal.subscribe(self._hear)

    def expect(self, *, records: int) -> None:
        """Say how many records the load has: the whole of which `acked_share` is a part."""
        self.progress.expected_records = records
        self._look_at_gates()

    def add(self, rule: Rule) -> None:
        """Add a rule; without `when` it opens at once. Raises RuleError for a name that is taken."""
        if rule.name in self._rules:
            raise RuleError(("name",), f"{rule.name!r} is the name of an earlier rule")
        state = _RuleState(rule, self._streams.stream(f"fault rule {rule.name}"))
        self._rules[rule.name] = state
        if rule.when is None:
            self._open(state)
        else:
            self._waiting.append((rule.when.drawn(state.random), state, True))
            self._look_at_gates()

    def remove(self, name: str) -> RuleReport:
        """Close a rule, let go what it holds, and forget it. Raises RuleError for an unknown name."""
        state = self._state(name)
        self._close(state)
        self._waiting = [entry for entry in self._waiting if entry[1] is not state]
        del self._rules[name]
        return self._report(state)

    def release(self, name: str) -> int:
        """Let go what a rule holds now, without closing it; answer how many requests that were."""
        return self._release(self._state(name))

    def reports(self) -> list[RuleReport]:
        """Every rule's report, in the order in which the rules were added."""
        return [self._report(state) for state in self._rules.values()]

    def struck(self, name: str) -> int:
        """How often a rule has struck. Raises RuleError for an unknown name."""
        return self._state(name).struck

    def close(self) -> None:
        """Close every rule: nothing stays held."""
        for state in self._rules.values():
            self._close(state)
        self._waiting = []

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        """Answer what to do with the request at `point`: the first open rule that fits strikes it."""
        if self.slow_disks:
            return self.slow_disks.intercept(phase, point, self._intercept)
        return self._intercept(phase, point)

    def _intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        states = self._by_phase.get(phase)
        if not states:
            return None
        for state in states:
            if self._fits(state, point):
                struck = self._strike(state, point)
                if struck is not None:
                    return struck
        return None

    def changed(self) -> None:
        """A rule has opened or closed, or a disk has become slow or fast: find the open phases, and report them."""
        open_phases = (phase for phase, states in self._by_phase.items() if states)
        self.open_phases = frozenset(Phase) if self.slow_disks else frozenset(open_phases)
        for watcher in list(self._watchers):
            watcher()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the open phases change; the function that is returned ends that."""
        self._watchers[changed] = None
        return lambda: self._watchers.pop(changed, None)

    def _fits(self, state: _RuleState, point: FaultPoint) -> bool:
        rule = state.rule
        if rule.times is not None and state.struck >= rule.times:
            return False
        broker = state.broker
        missed = rule.select.mismatch(point, _api_name(point.api_key), broker)
        if missed is not None:
            if not state.matched:
                state.miss(*missed)
            return False
        state.matched += 1
        if rule.select.nth is not None and state.matched not in rule.select.nth:
            state.miss(99, f"{state.matched} requests fitted, the rule strikes number {list(rule.select.nth)}")
            return False
        return rule.select.share is None or state.random.random() < rule.select.share

    def _strike(self, state: _RuleState, point: FaultPoint | None) -> Interception | None:
        rule = state.rule
        strike = Strike(
            cluster=self._cluster,
            reactor=self._reactor,
            point=point,
            resolve=lambda broker: self._resolve(broker, point),
            hold=lambda: self._hold(state),
            record_victim=lambda broker_id: setattr(state, "victim", broker_id),
            report_problem=lambda problem: setattr(state, "error", problem),
        )
        try:
            interception = rule.act.strike(strike)
        except RuleError as error:
            state.error = str(error)
            return None
        state.struck += 1
        self.progress.struck[rule.name] = state.struck
        self._cluster.journal.append(
            RuleFired(
                time_us=self._cluster.journal.now_us(),
                broker_id=point.broker_id if point else NO_BROKER,
                rule=rule.name,
                act=rule.act.name,
                phase=rule.phase.value if rule.phase else "",
                api=_api_name(point.api_key) if point else "",
                topic=point.topic if point else None,
                partition=point.partition if point else None,
                request_id=point.request_id if point else -1,
            )
        )
        self._look_at_gates()
        return interception

    def _resolve(self, broker: BrokerRef, point: FaultPoint | None) -> int:
        if isinstance(broker, int):
            return broker
        if isinstance(broker, Self):
            assert point is not None, "the grammar gives `self` to rules on requests alone"
            return point.broker_id
        if isinstance(broker, LeaderOf):
            leader = self._cluster.leader_of(broker.topic, broker.partition)
            if leader is None:
                raise RuleError(("broker",), f"{broker.topic}-{broker.partition} has no leader")
            return leader
        if isinstance(broker, ActiveController):
            active = self._cluster.active_controller
            if active is None:
                raise RuleError(("broker",), "no controller is active")
            return active
        assert isinstance(broker, KilledBy)
        victim = self._state(broker.rule).victim
        if victim is None:
            raise RuleError(("broker",), f"rule {broker.rule!r} has killed no broker yet")
        return victim

    # Gates.

    def _hear(self, event: Event) -> None:
        if self.progress.count(event) and self._waiting:
            self._look_at_gates()

    def _look_at_gates(self) -> None:
        reached = [entry for entry in self._waiting if self.progress.reached(entry[0])]
        if not reached:
            return
        self._waiting = [entry for entry in self._waiting if entry not in reached]
        for gate, state, opens in reached:
            # In the next turn at the earliest: a gate is reached in the middle of somebody's append or answer.
            self._reactor.callLater(gate.delay_ms / 1000, self._open if opens else self._close, state)

    def _open(self, state: _RuleState) -> None:
        rule = state.rule
        if state.opened or rule.name not in self._rules:
            return
        state.opened = True
        if rule.phase is None:
            self._strike(state, None)
            return
        if rule.select.broker is not None:
            try:
                state.broker = self._resolve(rule.select.broker, None)
            except RuleError as error:
                state.error = str(error)
                return
        state.open = True
        self._by_phase.setdefault(rule.phase, []).append(state)
        self.changed()
        if rule.until is not None:
            self._waiting.append((rule.until.drawn(state.random), state, False))
            self._look_at_gates()

    def _close(self, state: _RuleState) -> None:
        state.opened = True
        if state.open:
            state.open = False
            assert state.rule.phase is not None
            self._by_phase[state.rule.phase].remove(state)
            self.changed()
        self._release(state)

    # Held requests.

    def _hold(self, state: _RuleState) -> Deferred[None]:
        held: Deferred[None] = Deferred()
        if self._held >= HELD_REQUESTS_LIMIT:
            state.error = f"more than {HELD_REQUESTS_LIMIT} requests to hold"
            held.callback(None)
            return held
        self._held += 1
        state.held.append(held)
        return held

    def _release(self, state: _RuleState) -> int:
        held, state.held = state.held, []
        if not held:
            return 0
        self._held -= len(held)
        now_us = self._cluster.journal.now_us()
        self._cluster.journal.append(
            RuleReleased(time_us=now_us, broker_id=NO_BROKER, rule=state.rule.name, released=len(held))
        )
        for deferred in held:
            deferred.callback(None)
        return len(held)

    def _state(self, name: str) -> _RuleState:
        if name not in self._rules:
            raise RuleError(("name",), f"no rule is named {name!r}; the rules are {_listed(list(self._rules))}")
        return self._rules[name]

    def _report(self, state: _RuleState) -> RuleReport:
        rule = state.rule
        problem = state.error
        if problem is None and state.struck == 0 and not rule.optional:
            problem = "never fired"
            if not state.opened:
                problem += ": its `when` was never reached"
            elif state.near_text:
                problem += f", nearest miss: {state.near_text}"
        return RuleReport(
            name=rule.name,
            act=rule.act.name,
            struck=state.struck,
            matched=state.matched,
            optional=rule.optional,
            problem=problem,
        )


def _api_name(api_key: ApiKey | None) -> str:
    return "" if api_key is None else api_key.api_name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
