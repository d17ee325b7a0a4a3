"""The processes behind a case's brokers: it may end them and start them again, real or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_sim.threaded_cluster import ThreadedCluster


class Nodes(Protocol):
    """The control that a case has over brokers' processes. Use a cluster of its own: nothing restores it."""

    def kill(self, broker_id: int) -> None:
        """SIGKILL."""

    def shut_down(self, broker_id: int) -> None:
        """SIGTERM; the broker is down when this returns."""

    def restart(self, broker_id: int) -> None:
        """Start a broker on the data that it had; it may not serve yet when this returns."""


class OurNodes:
    """Those of the simulator."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self._cluster = cluster

    def kill(self, broker_id: int) -> None:
        """As a SIGKILL."""
        self._cluster.kill(broker_id)

    def shut_down(self, broker_id: int) -> None:
        """As a SIGTERM."""
        self._cluster.stop(broker_id)

    def restart(self, broker_id: int) -> None:
        """Start it again."""
        self._cluster.restart(broker_id)
