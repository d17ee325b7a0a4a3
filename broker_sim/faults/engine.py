"""The fault engine: opens and closes rules as gates are reached, fires them on requests that fit, and reports on each.

The spine calls it in the phases of `interception`; the events of the journal move the gates. It never reads the wall
clock and draws from a random stream per rule, so that a virtual run repeats itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from broker_sim.control.events import NO_BROKER, RuleFired, RuleReleased
from broker_sim.errors import BrokerSimError
from broker_sim.faults.action_context import Firing
from broker_sim.faults.interception import Phase
from broker_sim.faults.progress import Progress
from broker_sim.faults.rule import ActiveController, KilledBy, LeaderOf, NoEffect, RuleError, Self

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
"""How many requests all rules together may hold; one more goes on, and the report of its rule names the limit."""
NEAREST: Final = 99
"""The rank of a miss of a request that fits every criterion: nearer than any other."""

_log = Logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReport:
    """The outcome of one rule; `problem` is the reason why it must fail the run, None without one."""

    name: str
    act: str
    fired: int
    matched: int
    optional: bool
    problem: str | None


class _RuleState:
    __slots__ = (
        "broker",
        "due",
        "error",
        "fired",
        "held",
        "matched",
        "near",
        "near_text",
        "open",
        "opened",
        "random",
        "rule",
        "victim",
        "waiting",
    )

    def __init__(self, rule: Rule, random: Random) -> None:
        self.rule = rule
        self.random = random
        self.open = False
        self.opened = False
        self.due = False
        self.broker: int | None = None
        self.fired = 0
        self.matched = 0
        self.near = -1
        self.near_text: str | None = None
        self.victim: int | None = None
        self.held: list[Deferred[None]] = []
        self.waiting = 0
        self.error: str | None = None

    def wait_ended(self, result: None) -> None:
        """Count a request that waits no longer: a callback of its wait."""
        self.waiting -= 1
        return result

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
        """The slow log directories, None until the first one."""
        cluster.journal.subscribe(self._count_event)

    def expect(self, *, records: int) -> None:
        """Set the number of records of the load, which `acked_share` is a share of."""
        self.progress.expected_records = records
        self._check_gates()

    def add(self, rule: Rule) -> None:
        """Add a rule; without `when` it opens at once.

        Raises:
            RuleError: the name is taken, the parts of the rule do not fit together, or it names a broker, topic or
                partition that the cluster does not have. The rule is not added then.
        """
        # Imported with the first rule: every action comes along, and many a cluster has no rule.
        from broker_sim.faults.rule_checks import check_parts, check_targets

        if rule.name in self._rules:
            raise RuleError(("name",), f"{rule.name!r} is the name of an earlier rule")
        check_parts(rule)
        check_targets(rule, self._cluster)
        if any(gate is not None and gate.counts_batches for gate in (rule.when, rule.until)):
            self._cluster.journal.wants_batches = True
        state = _RuleState(rule, self._streams.stream(f"fault rule {rule.name}"))
        self._rules[rule.name] = state
        if rule.when is None:
            self._open(state)
        else:
            self._waiting.append((rule.when.drawn(state.random), state, True))
            self._check_gates()

    def free_name(self) -> str:
        """Return the first of `rule-1`, `rule-2`, ... that no rule has."""
        return next(name for number in count(1) if (name := f"rule-{number}") not in self._rules)

    def remove(self, name: str) -> RuleReport:
        """Close a rule, release what it holds, and forget it. Raises RuleError for an unknown name."""
        state = self._state(name)
        self._close(state)
        self._waiting = [entry for entry in self._waiting if entry[1] is not state]
        del self._rules[name]
        return self._report(state)

    def release(self, name: str) -> int:
        """Release the requests that a rule holds, without closing it; returns their number. Raises RuleError."""
        return self._release(self._state(name))

    def reports(self) -> list[RuleReport]:
        """Return the report of every rule, in the order in which the rules were added."""
        return [self._report(state) for state in self._rules.values()]

    def fired(self, name: str) -> int:
        """Return how often a rule has fired. Raises RuleError for an unknown name."""
        return self._state(name).fired

    def pending(self) -> list[str]:
        """Return one text per rule that delays or holds requests now."""
        return [
            f"rule {state.rule.name!r} delays or holds {state.waiting} requests"
            for state in self._rules.values()
            if state.waiting
        ]

    def due(self) -> list[str]:
        """Return the names of the rules that will open after a delay; an optional rule is not waited for."""
        return [
            state.rule.name
            for state in self._rules.values()
            if state.due and not state.opened and not state.rule.optional
        ]

    def close(self) -> None:
        """Close every rule: nothing stays held."""
        for state in self._rules.values():
            self._close(state)
        self._waiting = []

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        """Return the decision on the request at `point`, None to go on: the first open rule that fits fires."""
        if self.slow_disks:
            return self.slow_disks.intercept(phase, point, self._intercept)
        return self._intercept(phase, point)

    def _intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        states = self._by_phase.get(phase)
        if not states:
            return None
        for state in states:
            if self._fits(state, point):
                interception = self._fire(state, point)
                if interception is not None:
                    return interception
        return None

    def changed(self) -> None:
        """Compute the open phases again, after a rule or the speed of a disk has changed, and notify the watchers."""
        open_phases = (phase for phase, states in self._by_phase.items() if states)
        self.open_phases = frozenset(Phase) if self.slow_disks else frozenset(open_phases)
        for watcher in list(self._watchers):
            watcher()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the open phases change; returns the function that ends this."""
        self._watchers[changed] = None
        return lambda: self._watchers.pop(changed, None)

    def _fits(self, state: _RuleState, point: FaultPoint) -> bool:
        rule = state.rule
        if rule.times is not None and state.fired >= rule.times:
            return False
        broker = state.broker
        missed = rule.select.mismatch(point, _api_name(point.api_key), broker)
        if missed is not None:
            if not state.matched:
                state.miss(*missed)
            return False
        state.matched += 1
        if rule.select.nth is not None and state.matched not in rule.select.nth:
            state.miss(NEAREST, f"{state.matched} requests fitted, the rule fires on number {list(rule.select.nth)}")
            return False
        return rule.select.share is None or state.random.random() < rule.select.share

    def _fire(self, state: _RuleState, point: FaultPoint | None) -> Interception | None:
        rule = state.rule
        firing = Firing(
            cluster=self._cluster,
            reactor=self._reactor,
            point=point,
            resolve=lambda broker: self._resolve(broker, point),
            hold=lambda: self._hold(state),
            draw=lambda _, value: value.drawn(state.random),
            record_victim=lambda broker_id: setattr(state, "victim", broker_id),
            soon=lambda call: self._soon(state, call),
            report_problem=lambda problem: setattr(state, "error", problem),
        )
        try:
            interception = rule.act.fire(firing)
        except NoEffect as error:
            state.miss(NEAREST, str(error))
            return None
        except BrokerSimError as error:
            state.error = str(error)
            return None
        state.fired += 1
        if interception is not None and interception.wait is not None:
            state.waiting += 1
            interception.wait.addBoth(state.wait_ended)
        self.progress.fired[rule.name] = state.fired
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
        self._check_gates()
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

    def _soon(self, state: _RuleState, call: Callable[[], object]) -> None:
        def failed(failure: Failure) -> None:
            if failure.check(BrokerSimError) is None:
                _log.failure("faults: rule {rule} has failed", failure=failure, rule=state.rule.name)
            state.error = failure.getErrorMessage()

        def run() -> None:
            try:
                result = call()
            except Exception:  # noqa: BLE001 - any error of an action is the problem of its rule
                failed(Failure())
                return
            if isinstance(result, Deferred):
                result.addErrback(failed)

        self._reactor.callLater(0, run)

    # Gates.

    def _count_event(self, event: Event) -> None:
        if self.progress.count(event) and self._waiting:
            self._check_gates()

    def _check_gates(self) -> None:
        reached = [entry for entry in self._waiting if self.progress.reached(entry[0])]
        if not reached:
            return
        self._waiting = [entry for entry in self._waiting if entry not in reached]
        for gate, state, opens in reached:
            state.due = opens
            # In the next loop iteration at the earliest: a gate is reached in the middle of an append or a response.
            self._reactor.callLater(gate.delay_ms / 1000, self._open if opens else self._close, state)

    def _open(self, state: _RuleState) -> None:
        rule = state.rule
        if state.opened or rule.name not in self._rules:
            return
        state.opened = True
        if rule.phase is None:
            self._fire(state, None)
            return
        if rule.select.broker is not None:
            try:
                state.broker = self._resolve(rule.select.broker, None)
            except BrokerSimError as error:
                state.error = str(error)
                return
        state.open = True
        self._by_phase.setdefault(rule.phase, []).append(state)
        self.changed()
        if rule.until is not None:
            self._waiting.append((rule.until.drawn(state.random), state, False))
            self._check_gates()

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
        if problem is None and state.fired == 0 and not rule.optional:
            problem = "never fired"
            if not state.opened:
                problem += ": its `when` was never reached"
            elif state.near_text:
                problem += f", nearest miss: {state.near_text}"
        return RuleReport(
            name=rule.name,
            act=rule.act.name,
            fired=state.fired,
            matched=state.matched,
            optional=rule.optional,
            problem=problem,
        )


def _api_name(api_key: ApiKey | None) -> str:
    return "" if api_key is None else api_key.api_name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
