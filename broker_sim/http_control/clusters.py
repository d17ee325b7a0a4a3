"""The clusters of one process that HTTP controls, by name: made, reset and closed while the process runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import DeferredList

from broker_sim.cluster_renewal import renew
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.http_control.operation import UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.cluster import Cluster
    from sim_runtime.interfaces import IReactor

__all__ = ["CLUSTERS_MAX", "DEFAULT_NAME", "Clusters", "HostedCluster"]

DEFAULT_NAME: Final = "default"
"""The name of the cluster that `serve` starts."""
CLUSTERS_MAX: Final = 200
"""How many clusters a process has at most: each has listeners and threads of control of its own."""
NAME_MAX: Final = 100
_NAME: Final = re.compile(rf"[A-Za-z0-9._-]{{1,{NAME_MAX}}}")


@dataclass(slots=True, kw_only=True)
class HostedCluster:
    """One cluster, and the function that makes it anew on ports that are given."""

    name: str
    make: Callable[[Sequence[int], Sequence[int] | None], Cluster]
    """Takes the ports of the brokers and of the controllers; 0 lets the system choose one."""
    cluster: Cluster
    kept: str | None = None
    """The reason why it is neither reset nor closed before the process ends; None for a cluster without one."""
    proxy_names: dict[int, str] = field(default_factory=dict)
    """The names that clients of Toxiproxy have given to brokers."""
    toxics: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The toxics of each broker by name, of which those count whose rules are there."""


class Clusters:
    """All clusters of the process, in the order in which they were made."""

    def __init__(self, reactor: IReactor) -> None:
        self.reactor = reactor
        self._hosted: dict[str, HostedCluster] = {}

    def __iter__(self) -> Iterator[HostedCluster]:
        return iter(self._hosted.values())

    def named(self, name: str) -> HostedCluster:
        """Return one cluster. Raises UnknownName."""
        try:
            return self._hosted[name]
        except KeyError:
            raise UnknownName(f"there is no cluster {name!r}{nearest(name, self._hosted)}") from None

    def free_name(self) -> str:
        """Return a name that no cluster has: cluster-1, cluster-2, ..."""
        return next(name for number in count(1) if (name := f"cluster-{number}") not in self._hosted)

    def host(self, hosted: HostedCluster) -> None:
        """Add a cluster that runs."""
        self._hosted[hosted.name] = hosted

    def start(self, name: str, make: Callable[[Sequence[int], Sequence[int] | None], Cluster]) -> HostedCluster:
        """Make a cluster and start it.

        Raises:
            BrokerSimError: the name is taken or cannot stand in a path, there are too many clusters, or the cluster
                cannot be made.
        """
        if name in self._hosted:
            raise BrokerSimError(f"name: {name!r} is the name of another cluster")
        if not _NAME.fullmatch(name):
            raise BrokerSimError(f"name: {name!r} is not 1 to {NAME_MAX} letters, digits and the characters . _ -")
        if len(self._hosted) >= CLUSTERS_MAX:
            raise BrokerSimError(f"there are {CLUSTERS_MAX} clusters, and a process has no more")
        cluster = make((), None)
        cluster.start()
        hosted = HostedCluster(name=name, make=make, cluster=cluster)
        self._hosted[name] = hosted
        return hosted

    def reset(self, name: str) -> Deferred[HostedCluster]:
        """Replace a cluster by a new one on the same ports: no record, group, rule or fault of the old one is left.

        Topics that it had from the start exist again; clients reconnect. Raises UnknownName, or BrokerSimError for a
        cluster that is kept.
        """
        hosted = self._not_kept(name)

        def replace(new: Cluster) -> HostedCluster:
            hosted.cluster = new
            hosted.toxics.clear()
            return hosted

        return renew(hosted.cluster, hosted.make).addCallback(replace)

    def close(self, name: str) -> Deferred[None]:
        """Close a cluster and remove it. Raises UnknownName, or BrokerSimError for a cluster that is kept."""
        hosted = self._not_kept(name)
        del self._hosted[name]
        return hosted.cluster.close()

    def close_all(self) -> Deferred[Any]:
        """Close every cluster: the process ends."""
        closing = list(self._hosted.values())
        self._hosted.clear()
        return DeferredList([hosted.cluster.close() for hosted in closing])

    def _not_kept(self, name: str) -> HostedCluster:
        hosted = self.named(name)
        if hosted.kept is not None:
            raise BrokerSimError(f"cluster {name!r} {hosted.kept}")
        return hosted
