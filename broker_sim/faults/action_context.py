"""The context of one firing of a rule: the cluster, the reactor, and the request if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from broker_sim.faults.rule import NoEffect, OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IReactorTime

    from broker_sim.control.journal import Journal
    from broker_sim.faults.action import Need
    from broker_sim.faults.interception import FaultPoint
    from broker_sim.faults.rule import BrokerRef, Drawable


class FaultTarget(Protocol):
    """The part of a cluster that the fault engine uses."""

    @property
    def journal(self) -> Journal:
        """The journal that receives the events of rules, and whose events open and close gates."""

    @property
    def active_controller(self) -> int | None:
        """The node id of the active controller, None while there is none."""

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers."""

    @property
    def controller_ids(self) -> Sequence[int]:
        """The ids of the controllers that can be killed; empty where the one controller never fails."""

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""

    def is_running(self, node_id: int) -> bool:
        """Return True if a broker's or controller's process runs."""

    def kill(self, node_id: int) -> None:
        """Kill a broker or controller: connections reset, timers gone, logs kept."""

    def restart(self, node_id: int) -> object:
        """Start a broker or controller that was killed or stopped."""

    def stop(self, broker_id: int) -> object:
        """Shut a broker down in order."""

    @property
    def capabilities(self) -> Collection[Need]:
        """The parts that actions can need."""

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker and lose its unflushed data."""

    def fail_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Fail a log directory with I/O errors."""

    def fill_log_dir(self, broker_id: int, log_dir: str | None = None, *, left_bytes: int = 0) -> None:
        """Leave room for `left_bytes` in a log directory."""

    def slow_log_dir(
        self,
        broker_id: int,
        log_dir: str | None = None,
        *,
        append_ms: float = 0,
        sync_ms: float = 0,
        bytes_per_second: float | None = None,
    ) -> None:
        """Make a log directory slow."""

    def mend_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Repair a log directory."""

    def leader_of(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition, None when it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One firing of one rule: the argument of `Action.fire`."""

    cluster: FaultTarget
    reactor: IReactorTime
    point: FaultPoint | None
    resolve: Callable[[BrokerRef], int]
    """Returns the node behind a reference; raises RuleError when there is none now."""
    hold: Callable[[], Deferred[None]]
    """Returns a Deferred that fires when the rule is released."""
    draw: Callable[[str, Range | OneOf], float]
    """Draws a number of the action by its name."""
    record_victim: Callable[[int], None]
    """Remembers the broker that was killed or stopped, for `killed by RULE`."""
    soon: Callable[[Callable[[], object]], None]
    """Calls a function in the next loop iteration, never while the triggering request is served. An error of it, also
    a late one of a Deferred that it returns, becomes the problem of the rule."""
    report_problem: Callable[[str], None]
    """Reports why the rule could not do its work, for an action that finds out after it has fired."""

    def running(self, broker: BrokerRef) -> int:
        """Return the node behind a reference. Raises NoEffect when it is not running, RuleError when there is none."""
        node_id = self.resolve(broker)
        if not self.cluster.is_running(node_id):
            raise NoEffect(f"{describe_node(node_id, self.cluster.controller_ids)} is not running")
        return node_id

    def number(self, name: str, value: Drawable) -> float:
        """Return a number of the action, drawn by the random stream of the rule where it is a range or a choice."""
        return self.draw(name, value) if isinstance(value, Range | OneOf) else value

    def whole(self, name: str, value: Drawable) -> int:
        """Return a whole number of the action in the same way."""
        return int(self.number(name, value))


def describe_node(node_id: int, controller_ids: Collection[int]) -> str:
    """Return `broker 1` or `controller 3000`."""
    return f"{'controller' if node_id in controller_ids else 'broker'} {node_id}"
