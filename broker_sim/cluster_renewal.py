"""The replacement of a cluster by a new one on the same ports: the next test finds nothing of the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.cluster import Cluster

__all__ = ["renew"]


def renew(old: Cluster, make: Callable[[Sequence[int], Sequence[int] | None], Cluster]) -> Deferred[Cluster]:
    """Close a cluster, and start the one that `make` returns for the ports of its brokers and its controllers."""
    ports = [broker.port for broker in old.brokers.values()]
    controller_ports = [port for _, port in old.controller_endpoints.values()] or None

    def start(_: None) -> Cluster:
        new = make(ports, controller_ports)
        new.start()
        return new

    return old.close().addCallback(start)
