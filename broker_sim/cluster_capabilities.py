"""The parts of a cluster that actions of fault rules can need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.faults.action import Need
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.virtual_host import HostReactor
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster

__all__ = ["capabilities_of"]


def capabilities_of(cluster: Cluster) -> frozenset[Need]:
    """Return what a cluster offers to actions."""
    found = {Need.CLUSTER, Need.PROCESS, Need.WIRE}
    if cluster.data is not None:
        found.add(Need.DISK)
        if isinstance(cluster.data.disk, VirtualDisk):
            found.add(Need.VIRTUAL_DISK)
    if isinstance(cluster.reactor, VirtualReactor | HostReactor):
        found.add(Need.VIRTUAL_TIME)
    if all(isinstance(broker.reactor, HostReactor) for broker in cluster.brokers.values()):
        found.add(Need.VIRTUAL_NETWORK)
    return frozenset(found)
