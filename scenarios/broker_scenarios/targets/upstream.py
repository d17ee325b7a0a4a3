"""The real cluster of a run: one that runs already, or a Kafka that the run starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_scenarios.targets.broker_processes import CommandedProcesses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_scenarios.targets.broker_processes import BrokerProcesses
    from sim_runtime.real_reactor import RealReactor

__all__ = ["Upstream", "attached_to"]


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """Where the cluster is, and what is known of it."""

    address: tuple[str, int]
    """The address of a broker."""
    client_ports: Mapping[int, int] = field(default_factory=dict)
    """The ports of the listeners that the clients of the run use, by broker; none: those of `address`."""
    processes: Callable[[RealReactor], BrokerProcesses] | None = None
    """Returns the processes of its nodes, for the rules of a run; None if they cannot be controlled."""
    release: str | None = None
    """The release of its brokers; None if it is not known."""
    has_config: bool = False
    """True if it was started with the configurations of the scenario."""
    patience_s: float = 10
    """How long its brokers may take until they serve."""

    @property
    def name(self) -> str:
        """`host:port`."""
        return f"{self.address[0]}:{self.address[1]}"


def attached_to(address: tuple[str, int], control: str | None) -> Upstream:
    """Return a cluster that runs already; `control` is the command for its processes, with {action} and {id}."""
    return Upstream(
        address=address, processes=None if control is None else lambda reactor: CommandedProcesses(control, reactor)
    )
