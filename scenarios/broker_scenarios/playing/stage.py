"""The stage of a run: what its clients share. Virtual time and real sockets differ here alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from broker_scenarios.language.steps import Act
from broker_sim.faults.grammar import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_client.core.producer.trace import Trace
    from broker_scenarios.checks.on_the_wire.wire_facts import CallInCallback, Pool
    from broker_scenarios.drivers.driver import DriverProgram
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.playing.run_history import RunHistory
    from broker_scenarios.playing.run_limits import RunLimits
    from broker_scenarios.targets.target import RunTarget
    from sim_runtime.interfaces import IReactor
    from sim_runtime.process_reactor import ProcessReactor
    from sim_runtime.random_streams import RandomStreams

    StartDriver = Callable[[ClientGroup, ProcessReactor, str, Callable[[str], None]], DriverProgram]

__all__ = ["SCRIPT_VALUES_FIRST", "Stage"]

SCRIPT_VALUES_FIRST: Final = 1 << 40
"""The first id of a value that a script sends: ids below are those of loads."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """The cluster of a run, its time and chance, and the history that its clients write."""

    scenario: Scenario
    target: RunTarget
    reactor: IReactor
    reactor_of: Callable[[str], IReactor]
    """The reactor of the host with a name; a host is the home of one process."""
    streams: RandomStreams
    history: RunHistory
    limits: RunLimits
    calls_made: Callable[[], int] = int
    """Returns the number of calls of a virtual reactor, 0 on real time."""
    trace: Trace | None = None
    start_driver: StartDriver | None = None
    """Starts the driver of a client group, on the reactor of its process, and reports its problems."""
    driver_processes: list[DriverProgram] = field(default_factory=list)
    """Every program of a driver that was started, also those that have ended."""
    problems: list[str] = field(default_factory=list)
    """The reasons why the run did not go as its scripts state."""
    groups: dict[int, ClientGroup] = field(default_factory=dict)
    """The client group of each process."""
    client_ids: dict[int, str] = field(default_factory=dict)
    """The client.id of each process."""
    pools: list[Pool] = field(default_factory=list)
    """The memory of the producers at the end."""
    callbacks: list[CallInCallback] = field(default_factory=list)
    """The calls in delivery callbacks."""
    _ended: dict[str, None] = field(default_factory=dict)
    """The client groups whose scripts and loads are over."""
    _end_watchers: dict[Callable[[], None], None] = field(default_factory=dict)
    _acts: Iterator[int] = field(default_factory=lambda: count(1))
    _value_ids: Iterator[int] = field(default_factory=lambda: count(SCRIPT_VALUES_FIRST))

    def new_value_id(self) -> int:
        """The id of the next value of a script."""
        return next(self._value_ids)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has now, 0 if there is no such topic."""
        return self.target.partition_counts.get(topic, 0)

    def has_ended(self, group: str) -> bool:
        """Return True if the scripts and loads of a client group are over."""
        return group in self._ended

    def note_end(self, group: str) -> None:
        """Note that the scripts and loads of a client group are over."""
        if group not in self._ended:
            self._ended[group] = None
            for watcher in [*self._end_watchers]:
                watcher()

    def watch_ends(self, watcher: Callable[[], None]) -> Callable[[], object]:
        """Call `watcher` when a client group has ended; returns the function that ends this."""
        self._end_watchers[watcher] = None
        return lambda: self._end_watchers.pop(watcher, None)

    def kill_drivers(self) -> None:
        """End every process of a driver: after the run none is left, also after an error."""
        for process in self.driver_processes:
            process.kill()

    def act(self, client_id: str, act: object) -> None:
        """Do to the cluster what a rule's act does, now."""
        rule = parse_rule({"name": Act.rule_name(client_id, next(self._acts)), "act": act})
        self.target.add_rule(rule)
