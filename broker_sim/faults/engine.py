"""The fault engine: opens and closes rules as gates are reached, fires them on requests that fit, and reports on each.

The spine calls it in the phases of `interception`; the events of the journal move the gates. It never reads the wall
clock and draws from a random stream per rule and name, so that a virtual run repeats itself.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - RuleReport is decoded and described by its hints
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from broker_sim.control.events import NO_BROKER, RuleFired, RuleReleased
from broker_sim.errors import BrokerSimError
from broker_sim.faults.action_context import Firing, Resolver
from broker_sim.faults.connections import ConnectionFaults
from broker_sim.faults.interception import Outcome, Phase
from broker_sim.faults.rule import NoEffect, RuleError
from broker_sim.faults.rule_state import (
    NEAREST,
    Decision,
    Decisions,
    RuleState,
    Status,
)
from broker_sim.faults.selection import condition_text
from broker_sim.faults.waiting_gates import WaitingGates
from sim_runtime.deadlines import deadline, sleep
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from twisted.internet.interfaces import IReactorTime

    from broker_sim.faults.action_context import ClientTarget, FaultTarget
    from broker_sim.faults.gates import Gate
    from broker_sim.faults.interception import FaultPoint, Interception, ResponseObserver
    from broker_sim.faults.rule import Rule
    from broker_sim.faults.slow_disks import SlowDisks
    from protocol_specs.api_key import ApiKey
    from sim_runtime.random_streams import RandomStreams

HELD_REQUESTS_LIMIT: Final = 100_000
"""How many requests all rules together may hold; one more goes on, and the report of its rule names the limit."""
LASTING_EFFECTS_LIMIT: Final = 100
"""How many effects that last all rules together may have at a time: every byte of a connection passes through each."""

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
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    """The draws of the rule by name, for `FaultEngine.replay`: `when.delay_ms`, `act.delay_ms@2` of the second firing,
    and `share`, the numbers of the requests that it has selected."""

    def __str__(self) -> str:
        problem = f": {self.problem}" if self.problem else ""
        return f"rule {self.name} ({self.act}) has fired {plural(self.fired, 'time')}{problem}"


class FaultEngine:
    """All rules of a cluster."""

    def __init__(self, *, cluster: FaultTarget, reactor: IReactorTime, streams: RandomStreams) -> None:
        self.open_phases: frozenset[Phase] = frozenset()
        self._watchers: dict[Callable[[], None], None] = {}
        self._observers: dict[Phase, list[Callable[[FaultPoint], None]]] = {}
        self.response_observers: list[ResponseObserver] = []
        self._gates = WaitingGates(cluster.journal, reactor=reactor, in_sync=self._in_sync, reached=self._gate_reached)
        self.progress = self._gates.progress
        self._cluster = cluster
        self._reactor = reactor
        self._streams = streams
        self._rules: dict[str, RuleState] = {}
        self._added = 0
        self._by_phase: dict[Phase, list[RuleState]] = {}
        self._held = 0
        self._replayed: Mapping[str, Mapping[str, Decision]] = {}
        self.clients: ClientTarget | None = None
        """The clients of the run, None where no run has any."""
        self.connections = ConnectionFaults()
        """The faults of connections between clients and brokers."""
        self.slow_disks: SlowDisks | None = None
        """The slow log directories, None until the first one."""

    # The run around the rules.

    def expect(self, *, records: int) -> None:
        """Set the number of records of the load, which `acked_share` is a share of."""
        self.progress.expected_records = records
        self._gates.check()

    def start_load(self) -> None:
        """Note that the load begins now: `at_ms` counts from here."""
        self._gates.start_load()

    def replay(self, decisions: Mapping[str, Mapping[str, Decision]]) -> None:
        """Use these draws, by rule and name as `RuleReport.decisions` has them, for the rules that are added later."""
        self._replayed = decisions

    def control_clients(self, clients: ClientTarget) -> None:
        """Let rules pause, end and restart the clients of a run."""
        self.clients = clients

    # Rules.

    def add(self, rule: Rule, *, checked: bool = False) -> None:
        """Add a rule; without `when` it opens at once.

        The targets of a `checked` one were compared with its scenario, whose topics and partitions may come later.

        Raises:
            RuleError: the name is taken, the parts of the rule do not fit together, or it names a broker, topic or
                partition that the cluster does not have. The rule is not added then.
        """
        # Imported with the first rule: every action comes along, and many a cluster has no rule.
        from broker_sim.faults.rule_checks import check_parts, check_targets

        if rule.name in self._rules:
            raise RuleError(("name",), f"{rule.name!r} is the name of an earlier rule")
        check_parts(rule)
        if not checked:
            check_targets(rule, self._cluster.admin)
        for gate in (rule.when, rule.until):
            if gate is not None:
                self._make_events_of(gate)

        def stream(name: str) -> Random:
            return self._streams.stream(f"fault rule {rule.name} {name}")

        self._added += 1
        state = RuleState(rule, self._added, Decisions(stream, self._replayed.get(rule.name, {})))
        self._rules[rule.name] = state
        if rule.when is None:
            self._open(state)
        else:
            self._gates.add(rule.when, state, opens=True)

    def do(self, rule: Rule) -> Deferred[str]:
        """Add a rule whose action acts on the cluster, now; fires with its name when the action is done.

        The removal of the rule ends an effect that lasts. Raises RuleError as `add`, and for an action on requests. The
        Deferred fails with BrokerSimError if the action has a problem; the rule is removed then.
        """
        if rule.phase is not None:
            raise RuleError(("act",), f"{rule.act.name} acts on requests: add it as a rule")
        self.add(rule)
        state = self._rules[rule.name]
        done: Deferred[str] = Deferred()

        def check() -> None:
            if state.unfinished:
                state.when_done = check
                return
            problem = self._report(state).problem
            if problem is None:
                done.callback(rule.name)
            else:
                self.remove(rule.name)
                done.errback(BrokerSimError(f"{rule.act.name}: {problem}"))

        check()
        return done

    def _make_events_of(self, gate: Gate) -> None:
        """Have the events made that a gate counts, also where the journal does not keep them."""
        journal = self._cluster.journal
        if gate.counts_batches:
            journal.wants_batches = True
        if gate.event is not None and gate.event.is_traffic and not journal.full:
            journal.make_traffic()
            self.changed()

    def free_name(self) -> str:
        """Return the first of `rule-1`, `rule-2`, ... that no rule has."""
        return next(name for number in count(1) if (name := f"rule-{number}") not in self._rules)

    def remove(self, name: str) -> RuleReport:
        """Close a rule, release what it holds, end its effects, and forget it. Raises RuleError for an unknown name."""
        state = self._state(name)
        self._close(state)
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

    def wait_for(self, name: str, *, fired: int = 1, timeout_ms: float) -> Deferred[int]:
        """Fire when a rule has fired at least `fired` times, with the number of times.

        The Deferred fails with DeadlineExceeded after `timeout_ms`. Raises RuleError for an unknown name.
        """
        state = self._state(name)
        waiter: Deferred[int] = Deferred()
        state.waiters.append((fired, waiter))
        self._call_waiters(state)
        awaited = f"rule {name!r} to fire {plural(fired, 'time')} (then: {state.fired})"
        return deadline(self._reactor, waiter, timeout_ms, awaited=awaited, option="timeout_ms")

    def _call_waiters(self, state: RuleState) -> None:
        ready = [waiter for fired, waiter in state.waiters if state.fired >= fired]
        if ready:
            state.waiters = [each for each in state.waiters if state.fired < each[0]]
            for waiter in ready:
                # In the next loop iteration: the rule fires in the middle of a request.
                self._reactor.callLater(0, _call_back, waiter, state.fired)

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
            state.rule.name for state in self._rules.values() if state.status is Status.DUE and not state.rule.optional
        ]

    def is_healed(self) -> bool:
        """Return True if the cluster is in sync and no rule acts on it, or will; rules on requests may go on."""
        return not any(state.may_act_on_cluster for state in self._rules.values()) and self._in_sync()

    def end(self) -> None:
        """Close every rule at the end of a run: held requests go on, and effects that last end."""
        for state in self._rules.values():
            self._close(state)

    def close(self) -> None:
        """Close every rule with its cluster: nothing stays held."""
        for state in self._rules.values():
            state.undo.clear()
            self._close(state)
        self.connections.close()

    # Requests.

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        """Return the decision on the request at `point`, None to go on.

        Every open rule that fits fires, in the order in which the rules were added. Delays add up, and a request waits
        for all that hold it. The first rule that decides the outcome does so for all: a later one that would decide
        does not fire on this request.
        """
        if self._observers:
            for observer in self._observers.get(phase, ()):
                observer(point)
        if self.slow_disks:
            return self.slow_disks.intercept(phase, point, self._intercept)
        return self._intercept(phase, point)

    def passes(self, phase: Phase, api_key: ApiKey | None) -> bool:
        """Return True if nothing can happen to a request of this API: every open rule selects others, or is used up."""
        if self._observers or self.slow_disks:
            return False
        name = _api_name(api_key)
        for state in self._by_phase.get(phase, ()):  # noqa: SIM110 - for every request, and a generator costs more
            if not state.passes(name):
                return False
        return True

    def _intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        states = self._by_phase.get(phase)
        if not states:
            return None
        fired: list[tuple[RuleState, Interception]] = []
        is_decided = False
        for state in tuple(states):
            if state.status is not Status.OPEN or not self._fits(state, point):
                continue
            if is_decided and state.rule.act.decides:
                state.miss(NEAREST, "an earlier rule has decided the outcome")
                continue
            interception = self._fire(state, point)
            if interception is not None:
                is_decided = is_decided or interception.outcome is not Outcome.PROCEED
                fired.append((state, interception))
        return self._combined(fired) if fired else None

    def observe(self, phase: Phase, observer: Callable[[FaultPoint], None]) -> None:
        """Call `observer` with each request in a phase, before rules decide on it; it must not change the request."""
        self._observers.setdefault(phase, []).append(observer)
        self.changed()

    def observe_responses(self, observer: ResponseObserver) -> None:
        """Call `observer` with each response that was written to a client, as rules have left it, and its request."""
        self.response_observers.append(observer)
        self.changed()

    def _combined(self, fired: Sequence[tuple[RuleState, Interception]]) -> Interception:
        """Return one interception that waits for all, and has the first outcome that is decided."""
        first = next((each for _, each in fired if each.outcome is not Outcome.PROCEED), fired[0][1])
        waits = [each.wait for _, each in fired if each.wait is not None]
        delay_ms = sum(each.delay_ms for _, each in fired)
        if delay_ms > 0:
            waits.append(sleep(self._reactor, delay_ms))
        if waits:
            wait = waits[0]
            for other in waits[1:]:
                wait.addCallback(_then, other)
            for state, each in fired:
                if each.wait is not None or each.delay_ms > 0:
                    state.waiting += 1
                    wait.addBoth(state.wait_ended)
            first.wait = wait
        first.edits = tuple(edit for _, each in fired for edit in each.edits)
        first.copies = sum(each.copies for _, each in fired)
        first.report_problem = next((each.report_problem for _, each in fired if each.copies), None)
        first.reversed_responses = max(each.reversed_responses for _, each in fired)
        first.cut_bytes = first.cut_bytes or max(each.cut_bytes for _, each in fired)
        return first

    def changed(self) -> None:
        """Compute the open phases again, after a rule or the speed of a disk has changed, and call the watchers."""
        open_phases = (phase for phase, states in self._by_phase.items() if states)
        self.open_phases = frozenset(Phase) if self.slow_disks else frozenset((*open_phases, *self._observers))
        self._call_watchers()

    def _call_watchers(self) -> None:
        for watcher in list(self._watchers):
            watcher()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after the end of a rule or action, and when the open phases change; returns what ends this."""
        self._watchers[changed] = None
        return lambda: self._watchers.pop(changed, None)

    def _fits(self, state: RuleState, point: FaultPoint) -> bool:
        rule = state.rule
        if state.is_used_up:
            return False
        missed = rule.select.mismatch(point, _api_name(point.api_key), state.broker)
        if missed is not None:
            if not state.matched:
                state.miss(*missed)
            return False
        select = rule.select
        if select.connections is not None:
            number = state.number_of_connection(point.client_id, point.connection_id)
            if number not in select.connections:
                state.miss(NEAREST, f"connection {number} of its client is not {condition_text(select.connections)}")
                return False
        state.matched += 1
        if select.nth is not None and state.matched not in select.nth:
            state.miss(
                NEAREST, f"requests that fitted: {state.matched}, the rule fires on number {condition_text(select.nth)}"
            )
            return False
        return select.share is None or state.decisions.selects(state.matched, select.share)

    # Firing.

    def _fire(self, state: RuleState, point: FaultPoint | None) -> Interception | None:
        rule = state.rule
        if state.undo and sum(len(each.undo) for each in self._rules.values()) >= LASTING_EFFECTS_LIMIT:
            state.error = f"more than {LASTING_EFFECTS_LIMIT} effects last: limit the rule by `times` or `until`"
            return None
        firing = Firing(
            cluster=self._cluster,
            clients=self.clients,
            reactor=self._reactor,
            point=point,
            ends=rule.until is not None,
            victim_of=lambda name: self._state(name).victim,
            hold=lambda: self._hold(state),
            draw=state.draw_of_action,
            record_victim=lambda broker_id: setattr(state, "victim", broker_id),
            soon=lambda call: self._soon(state, call),
            at_end=state.undo.append,
            report_problem=lambda problem: setattr(state, "error", problem),
        )
        try:
            interception = rule.act.fire(firing)
        except NoEffect as error:
            state.miss(NEAREST, str(error))
            return None
        except BrokerSimError as error:
            state.fail(error)
            return None
        state.fired += 1
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
                decisions=state.decisions.take_latest(),
            )
        )
        self._call_waiters(state)
        self._gates.check()
        return interception

    def _soon(self, state: RuleState, call: Callable[[], object]) -> None:
        state.unfinished += 1
        self._reactor.callLater(0, self._run_one, state, call)

    def _run_one(self, state: RuleState, call: Callable[[], object]) -> None:
        result = self._run(state, call)
        if isinstance(result, Deferred):
            result.addBoth(lambda _: self._call_done(state))
        else:
            self._call_done(state)

    def _call_done(self, state: RuleState) -> None:
        state.call_done()
        self._call_watchers()

    def _run(self, state: RuleState, call: Callable[[], object]) -> object:
        def failed(failure: Failure) -> None:
            if failure.check(BrokerSimError) is None:
                _log.failure("faults: rule {rule} has failed", failure=failure, rule=state.rule.name)
            state.fail(failure.value)

        try:
            result = call()
        except Exception:  # noqa: BLE001 - any error of an action is the problem of its rule
            failed(Failure())
            return None
        return result.addErrback(failed) if isinstance(result, Deferred) else result

    # Gates.

    def _gate_reached(self, state: RuleState, opens: bool) -> None:  # noqa: FBT001 - a callback
        if opens:
            self._open(state)
        else:
            self._close(state)

    def _in_sync(self) -> bool:
        """Return True if every broker runs, every replica is in sync, and no rule that waited for this breaks it."""
        if any(_awaited_sync(state) and state.breaks for state in self._rules.values()):
            return False
        cluster = self._cluster
        return all(map(cluster.admin.serves, cluster.broker_ids)) and all(
            set(cluster.admin.isr_of(topic, partition)) == set(cluster.admin.replicas_of(topic, partition))
            for topic, count in cluster.partition_counts.items()
            for partition in range(count)
        )

    def _open(self, state: RuleState) -> None:
        rule = state.rule
        if state.was_opened:
            return
        if rule.phase is not None and rule.select.broker is not None:
            try:
                state.broker = self._resolve_select(state)
            except BrokerSimError as error:
                state.status = Status.CLOSED
                state.fail(error)
                return
        state.status = Status.OPEN
        if rule.phase is None:
            self._fire_on_cluster(state)
        else:
            states = self._by_phase.setdefault(rule.phase, [])
            states.append(state)
            states.sort(key=attrgetter("place"))
            self.changed()
        if rule.until is not None:
            self._gates.add(rule.until, state, opens=False)

    def _resolve_select(self, state: RuleState) -> int:
        resolver = Resolver(
            cluster=self._cluster,
            point=None,
            victim_of=lambda name: self._state(name).victim,
            draw=lambda name, value: state.draw("select", name, value),
        )
        assert state.rule.select.broker is not None
        return resolver.resolve(state.rule.select.broker)

    def _fire_on_cluster(self, state: RuleState) -> None:
        if state.status is not Status.OPEN or state.is_used_up:
            return
        self._fire(state, None)
        if state.rule.every_ms is not None and not state.is_used_up:
            pause_ms = state.decisions.draw(f"every_ms@{state.fired}", state.rule.every_ms)
            self._reactor.callLater(pause_ms / 1000, self._fire_on_cluster, state)

    def _close(self, state: RuleState) -> None:
        was_open, state.status = state.status is Status.OPEN, Status.CLOSED
        if was_open and state.rule.phase is not None:
            self._by_phase[state.rule.phase].remove(state)
        self.changed()
        self._gates.remove(state)
        self._release(state)
        undo, state.undo = state.undo, []
        for call in reversed(undo):
            self._run(state, call)

    # Held requests.

    def _hold(self, state: RuleState) -> Deferred[None]:
        held: Deferred[None] = Deferred()
        if self._held >= HELD_REQUESTS_LIMIT:
            state.error = f"more than {HELD_REQUESTS_LIMIT} requests to hold"
            held.callback(None)
            return held
        self._held += 1
        state.held.append(held)
        return held

    def _release(self, state: RuleState) -> int:
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

    def _state(self, name: str) -> RuleState:
        if name not in self._rules:
            raise RuleError(("name",), f"no rule is named {name!r}; the rules are {_listed(list(self._rules))}")
        return self._rules[name]

    def _unopened(self, state: RuleState) -> str:
        if state.status is Status.DUE:
            return ": the delay_ms of its `when` was not over"
        unmet = self._gates.unmet(state)
        return ": its `when` was never reached" + (f" ({unmet})" if unmet else "")

    def _report(self, state: RuleState) -> RuleReport:
        rule = state.rule
        problem = state.error
        if problem is None and state.fired == 0 and not rule.optional:
            problem = "never fired"
            if not state.was_opened:
                problem += self._unopened(state)
            elif state.near_text:
                problem += f", nearest miss: {state.near_text}"
        return RuleReport(
            name=rule.name,
            act=rule.act.name,
            fired=state.fired,
            matched=state.matched,
            optional=rule.optional,
            problem=problem,
            decisions=state.decisions.by_name(),
        )


def _awaited_sync(state: RuleState) -> bool:
    return state.rule.when is not None and state.rule.when.in_sync


def _then(_: None, following: Deferred[None]) -> Deferred[None]:
    return following


def _call_back(waiter: Deferred[int], fired: int) -> None:
    if not waiter.called:
        waiter.callback(fired)


def _api_name(api_key: ApiKey | None) -> str:
    return "" if api_key is None else api_key.api_name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
