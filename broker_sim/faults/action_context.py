"""What an act is given when its rule strikes: the cluster, the time, the request if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IReactorTime

    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import FaultPoint
    from broker_sim.faults.rule import BrokerRef


class FaultTarget(Protocol):
    """What the fault engine asks of a cluster."""

    @property
    def journal(self) -> Journal:
        """Where rules are reported, and what triggers count."""

    @property
    def active_controller(self) -> int | None:
        """The node id of the controller that decides, None while none does."""

    def kill(self, broker_id: int) -> None:
        """Kill a broker or controller: connections reset, timers gone, logs kept."""

    def restart(self, broker_id: int) -> object:
        """Start a broker or controller that was killed or stopped."""

    def stop(self, broker_id: int) -> object:
        """Shut a broker down in order."""

    @property
    def keeps_data(self) -> bool:
        """Whether logs are on a disk."""

    def lose_power(self, broker_id: int) -> None:
        """Kill a broker, and lose what it had not flushed."""

    def fail_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """Let a log directory answer nothing but errors."""

    def fill_log_dir(self, broker_id: int, log_dir: str | None = None, *, left_bytes: int = 0) -> None:
        """Leave room for so many bytes in a log directory."""

    def slow_log_dir(
        self,
        broker_id: int,
        log_dir: str | None = None,
        *,
        append_ms: float = 0,
        sync_ms: float = 0,
        bytes_per_second: float | None = None,
    ) -> None:
        """Let a log directory take its time."""

    def mend_log_dir(self, broker_id: int, log_dir: str | None = None) -> None:
        """End what is wrong with a log directory."""

    def leader_of(self, topic: str, partition: int) -> int | None:
        """The leader of a partition, None when it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One strike of one rule."""

    cluster: FaultTarget
    reactor: IReactorTime
    point: FaultPoint | None
    resolve: Callable[[BrokerRef], int]
    """The broker behind a reference; raises RuleError when there is none now."""
    hold: Callable[[], Deferred[None]]
    """A Deferred that fires when the rule is released."""
    record_victim: Callable[[int], None]
    """Remember the broker that was killed or stopped, for `killed by RULE`."""
    report_problem: Callable[[str], None]
    """Reports why the rule could not do its work, for an action that finds out after it has fired."""

    def needs_disk(self, act: str) -> None:
        """Raise RuleError for an act that means nothing to logs in memory."""
        if not self.cluster.keeps_data:
            from broker_sim.faults.grammar import RuleError

            raise RuleError(("act", act), "the logs are in memory: the cluster needs a data directory")

    def soon(self, call: Callable[[], object]) -> None:
        """Do something to the cluster in the next turn: never in the middle of the request that is struck."""
        self.reactor.callLater(0, call)
