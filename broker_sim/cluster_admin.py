"""The verbs of an administrator of a cluster, and what fault rules find in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.faults.action import Need
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.virtual_host import HostReactor
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster import Cluster

__all__ = ["ClusterAdmin"]

STATE_TOPICS: Final = {"group": GROUP_METADATA_TOPIC_NAME, "transaction": TRANSACTION_STATE_TOPIC_NAME}


class ClusterAdmin:
    """The administrator of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def capabilities(self) -> frozenset[Need]:
        """The parts that actions of fault rules can need."""
        cluster = self._cluster
        found = {Need.CLUSTER, Need.PROCESS, Need.WIRE}
        if cluster.data is not None:
            found.add(Need.DISK)
            if isinstance(cluster.data.disk, VirtualDisk):
                found.add(Need.VIRTUAL_DISK)
        if isinstance(cluster.reactor, VirtualReactor | HostReactor):
            found.add(Need.VIRTUAL_TIME)
        if all(isinstance(broker.reactor, HostReactor) for broker in cluster.brokers.values()):
            found.add(Need.VIRTUAL_NETWORK)
        if cluster.faults.clients is not None:
            found.add(Need.CLIENTS)
        return frozenset(found)

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers, of those that are down too."""
        return self._cluster.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """The node ids of the controllers that can fail."""
        return self._cluster.controller_ids

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""
        return self._cluster.partition_counts

    def replicas_of(self, topic: str, partition: int) -> Sequence[int]:
        """Return the replicas of a partition, the preferred one first. Raises BrokerSimError for an unknown one."""
        return self._cluster.registration_of(topic, partition).replicas

    def state_partition(self, kind: str, key: str) -> tuple[str, int]:
        """Return the partition that has the state of a group or of a transaction (`kind`), -1 while there is none."""
        topic = STATE_TOPICS[kind]
        count = self._cluster.partition_counts.get(topic)
        return topic, -1 if count is None else partition_for(key, count)
