"""The end of a run: wait for the rules that are still due, heal the cluster, and wait until it is at rest.

Healing closes all rules, releases held requests, repairs disks and restarts dead brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from twisted.internet.interfaces import IReactorTime

    from broker_sim.cluster import Cluster
    from broker_sim.faults.engine import FaultEngine

__all__ = ["heal", "settle", "wait_for_due_rules"]

_POLL_MS: Final = 50


async def wait_for_due_rules(faults: FaultEngine, reactor: IReactorTime, *, within_s: float) -> None:
    """Wait until every rule has opened whose `when` is reached and whose delay runs, at most `within_s` seconds."""
    deadline = reactor.seconds() + within_s
    while faults.due() and reactor.seconds() < deadline:
        await sleep(reactor, _POLL_MS)


def heal(cluster: Cluster) -> None:
    """End all faults: close the rules, repair the log directories, restart what is down and continue what is paused."""
    cluster.faults.end()
    for broker in cluster.brokers.values():
        broken = list(broker.storage.directories.offline)
        for name in broken or broker.storage.directories.names:
            cluster.mend_log_dir(broker.id, name)
        if broken:
            cluster.restart(broker.id)
    _revive(cluster)


def _revive(cluster: Cluster) -> None:
    """Restart the nodes that are down, also one that a rule stopped and that took its time; continue paused brokers."""
    for node_id in (*cluster.controller_ids, *cluster.broker_ids):
        if not cluster.is_running(node_id):
            cluster.restart(node_id)
    for broker in cluster.brokers.values():
        if broker.paused:
            broker.resume()


async def settle(cluster: Cluster, *, within_s: float) -> str | None:
    """Wait until the brokers have served the last request of the load and all replicas are equal.

    The producers have closed their connections. A broker closes its side after the last request that it has received,
    so that no record of a producer without acknowledgements (acks=0) is still on the wire.

    Returns None, or the reason why the cluster was not at rest after `within_s` seconds.
    """
    deadline = cluster.reactor.seconds() + within_s
    # A rule that fired last may kill its broker in the next loop iteration, after the cluster was healed.
    await sleep(cluster.reactor, 0)
    _revive(cluster)
    while pending := [*_open_connections(cluster), *cluster.pending()]:
        _revive(cluster)
        if cluster.reactor.seconds() >= deadline:
            return f"the cluster was not at rest {within_s:g} s after the load (deadline_s): {'; '.join(pending[:3])}"
        await sleep(cluster.reactor, _POLL_MS)
    return None


def _open_connections(cluster: Cluster) -> list[str]:
    servers = ((broker.id, broker.socket_server) for broker in cluster.brokers.values())
    return [
        f"broker {broker_id} has {server.connections} open connections"
        for broker_id, server in servers
        if server is not None and server.connections
    ]
