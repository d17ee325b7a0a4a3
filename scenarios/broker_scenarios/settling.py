"""The end of a run's faults: everything held goes on, disks are mended, dead brokers come back, all comes to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster

__all__ = ["settle"]

_LOOK_AGAIN_MS: Final = 50


async def settle(cluster: Cluster, *, within_s: float) -> str | None:
    """Heal, then wait for rest; answer None, or why there was none within the time."""
    cluster.faults.close()
    for broker in cluster.brokers.values():
        broken = list(broker.storage.directories.offline)
        for name in broken or broker.storage.directories.names:
            cluster.mend_log_dir(broker.id, name)
        if broken or not broker.alive:
            cluster.restart(broker.id)
    deadline = cluster.reactor.seconds() + within_s
    while pending := cluster.pending():
        if cluster.reactor.seconds() >= deadline:
            return f"the cluster was not at rest {within_s:g} s after the load (deadline_s): {'; '.join(pending[:3])}"
        await sleep(cluster.reactor, _LOOK_AGAIN_MS)
    return None
