"""One run of a scenario whose steps are taken from a schedule, from the first Produce request to the clients' end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from broker_scenarios.errors import ScenarioError
from broker_scenarios.exploring.lanes import carries_produce_request, describe, nodes_of
from broker_scenarios.exploring.step import TIME, Step
from broker_scenarios.targets.simulated import SimulatedTarget
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.faults.action import Need
from broker_sim.faults.rule import Range
from broker_sim.links.stepped_link import SteppedLink
from broker_sim.network.acceptor import WITH_TLS
from sim_runtime.stepped_world import SteppedWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_scenarios.language.scenario import Scenario
    from broker_sim.cluster import Cluster
    from broker_sim.faults.rule import Rule
    from sim_runtime.stepped_reactor import Lane
    from sim_runtime.world import World

__all__ = ["ExploredRun", "Guide", "crash_rules"]


class Guide(Protocol):
    """Decides on the steps of a run where there is more than one."""

    def choose(self, run: ExploredRun, steps: Sequence[Step]) -> Step:
        """Return one of the possible steps. It raises an error to end the run here."""

    def ended(self, run: ExploredRun) -> None:
        """The clients have ended: the messages arrive in their order from now on."""


def crash_rules(scenario: Scenario) -> tuple[Rule, ...]:
    """Return the rules that may fire at any step: on the process of a node, at a time that is drawn from a range."""
    return tuple(rule for rule in scenario.rules if _fires_any_time(rule))


def _fires_any_time(rule: Rule) -> bool:
    return (
        rule.phase is None
        and Need.PROCESS in rule.act.needs
        and rule.when is not None
        and isinstance(rule.when.at_ms, Range)
    )


class ExploredRun(VirtualRun):
    """A run on a SteppedReactor. `losses` messages may be lost, each with its connection.

    Before the first Produce request, and after the clients have ended, messages arrive in the order of their sending.

    Raises:
        ScenarioError: A listener has TLS.
    """

    def __init__(self, scenario: Scenario, seed: int, guide: Guide, *, losses: int = 0) -> None:
        drawn = scenario.drawn(seed)
        self._crashes = dict.fromkeys(crash_rules(drawn))
        self._losses = losses
        self._guide = guide
        self._begun = False
        self._ended = False
        self._idle_at: int | None = None
        self.steps_taken = 0
        super().__init__(replace(drawn, rules=tuple(rule for rule in drawn.rules if rule not in self._crashes)), seed)
        for listener in self.cluster.brokers[1].listeners.all:
            if listener.security_protocol in WITH_TLS:
                raise ScenarioError(
                    f"{scenario.name}: listener {listener.name} is {listener.security_protocol}, and the messages of "
                    "encrypted connections cannot be recognized: make it PLAINTEXT to explore their orders"
                )

    # What differs from a run whose network decides

    def _make_world(self, seed: int) -> World:
        world = SteppedWorld(seed)
        self.reactor = world.stepped
        self.reactor.scheduler = self
        return world

    def _attach_to_network(self) -> None:
        self.cluster.attach_to_network(self.world.network, SteppedLink)

    def _make_target(self) -> SimulatedTarget:
        self._target = _Target(self.cluster, self._clients_ended)
        return self._target

    # The Scheduler of the reactor

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        """Return the step that the guide chooses, or the only one."""
        if not self._begun:
            self._begun = any(carries_produce_request(lane) for lane in ready)
        if self._ended or not self._begun:
            return ready[0].deliver if ready else None
        steps = self._steps(ready)
        if not steps:
            return None
        chosen = self._guide.choose(self, steps)
        if chosen.take is not None:
            self.steps_taken += 1
        return chosen.take

    def _steps(self, ready: Sequence[Lane]) -> list[Step]:
        """Return the possible steps, first the delivery of the message that has waited longest."""
        steps: list[Step] = []
        for lane in ready:
            _, receiver = nodes_of(lane)
            steps.append(Step(name=lane.name, message=describe(lane), nodes=frozenset({receiver}), take=lane.deliver))
        if self._losses:
            steps += [self._loss(lane) for lane in ready if lane.can_be_lost]
        if not self._crashes:
            return steps
        if not ready:
            # Time may move often before a message is sent: the crash is the same at each of these times.
            if self._idle_at == self.steps_taken:
                return steps
            self._idle_at = self.steps_taken
            steps.append(Step(name=TIME, message="", nodes=None, take=None))
        return steps + [self._crash(rule) for rule in self._crashes]

    def _crash(self, rule: Rule) -> Step:
        def fire() -> None:
            del self._crashes[rule]
            self._target.add_rule(replace(rule, when=None))

        return Step(name=f"rule {rule.name}", message=str(rule.act.name), nodes=None, take=fire)

    def _loss(self, lane: Lane) -> Step:
        def lose() -> None:
            self._losses -= 1
            lane.lose()

        return Step(
            name=f"lose {lane.name}", message=f"{describe(lane)} lost", nodes=frozenset(nodes_of(lane)), take=lose
        )

    def _clients_ended(self) -> None:
        self._ended = True
        self._guide.ended(self)

    @property
    def budget(self) -> tuple[object, ...]:
        """The faults that are still possible."""
        return (tuple(rule.name for rule in self._crashes), self._losses)

    def time_moves(self, now_us: int) -> None:
        """Do nothing: the state has the time of every timer."""


class _Target(SimulatedTarget):
    """The cluster of an explored run: it notes when the clients have ended."""

    def __init__(self, cluster: Cluster, clients_ended: Callable[[], None]) -> None:
        super().__init__(cluster)
        self._clients_ended = clients_ended

    def heal(self) -> None:
        """As SimulatedTarget.heal."""
        self._clients_ended()
        super().heal()
