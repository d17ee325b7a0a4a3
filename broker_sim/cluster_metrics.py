"""A cluster's metrics, gathered on request: the gauges of each running broker, and the controller's.

Under the names of kafka.server, kafka.network and kafka.controller. Rates are averages since the broker started; ISR
changes are counted where the controller commits them, for the leader that proposed them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.control.events import IsrChanged, LeaderElected
from broker_sim.metrics.metric import Meter, Metric, MetricsSnapshot
from broker_sim.replication.purgatory_metrics import purgatory_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.metrics.metric import Value
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.socket_server import SocketServer
    from broker_sim.replication.partition import Partition

__all__ = ["cluster_metrics"]

SHORTEST_S: Final = 1e-6
LATE_TRANSACTION_BUFFER_MS: Final = 300_000


def cluster_metrics(cluster: Cluster) -> MetricsSnapshot:
    """Everything, broker by broker in the order of their ids, then the controller."""
    made: list[Metric] = []
    for broker in cluster.brokers.values():
        if broker.alive:
            made.extend(_of_broker(cluster, broker))
    made.extend(_of_controller(cluster))
    return MetricsSnapshot(made)


def _of_broker(cluster: Cluster, broker: Broker) -> list[Metric]:
    elapsed_s = max(SHORTEST_S, (broker.journal.now_us() - broker.started_us) / 1e6)
    made = _of_replicas(broker)
    shrinks = expands = 0
    for event in cluster.journal.events_of(IsrChanged):
        assert isinstance(event, IsrChanged)
        if event.broker_id == broker.id and event.time_us >= broker.started_us:
            shrinks += len(event.isr) < len(event.previous_isr)
            expands += len(event.isr) > len(event.previous_isr)
    for name, count in (("IsrShrinksPerSec", shrinks), ("IsrExpandsPerSec", expands)):
        rate = Meter(count=count, mean_rate=count / elapsed_s)
        made.append(Metric(domain="kafka.server", type="ReplicaManager", name=name, broker=broker.id, value=rate))
    made.extend(broker.replica_manager.topic_stats.metrics(broker.id, elapsed_s))
    sessions = float(len(broker.apis.fetch_sessions))
    made.append(_server(broker, "FetchSessionCache", "NumIncrementalFetchSessions", sessions))
    if broker.socket_server is not None:
        made.extend(_of_network(broker, broker.socket_server))
    made.extend(_of_quotas(broker))
    made.extend(purgatory_metrics(broker))
    made.extend(broker.request_metrics.metrics(broker.id, elapsed_s))
    return made


def _of_replicas(broker: Broker) -> list[Metric]:
    partitions = list(broker.replica_manager.partitions.values())
    led = [partition for partition in partitions if partition.is_leader]
    under_min = at_min = 0
    for partition in led:
        minimum = partition.effective_min_isr
        under_min += len(partition.isr) < minimum
        at_min += len(partition.isr) == minimum
    gauges = {
        "PartitionCount": len(partitions),
        "LeaderCount": len(led),
        "UnderReplicatedPartitions": sum(len(each.isr) < len(each.replicas) for each in led),
        "UnderMinIsrPartitionCount": under_min,
        "AtMinIsrPartitionCount": at_min,
    }
    if broker.config.behaviour.late_transactions_are_counted:
        gauges["PartitionsWithLateTransactionsCount"] = _late_transactions(broker, led)
    if broker.config.behaviour.producer_ids_are_counted:
        gauges["ProducerIdCount"] = sum(len(each.log.producers.active_producers) for each in partitions)
    return [_server(broker, "ReplicaManager", name, float(value)) for name, value in gauges.items()]


def _late_transactions(broker: Broker, led: Sequence[Partition]) -> int:
    """Count the partitions with a hanging transaction (KIP-664)."""
    timeout_ms = broker.config["transaction.max.timeout.ms"]
    assert isinstance(timeout_ms, int)
    now_ms, late_ms = broker.now_ms(), timeout_ms + LATE_TRANSACTION_BUFFER_MS
    return sum(partition.log.producers.has_late_transaction(now_ms, late_ms) for partition in led)


def _of_network(broker: Broker, server: SocketServer) -> list[Metric]:
    gauges = (
        ("kafka.network", "SocketServer", "NetworkProcessorAvgIdlePercent", server.processor_idle_ratio()),
        ("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent", server.handler_idle_ratio()),
        ("kafka.network", "RequestChannel", "RequestQueueSize", float(len(server.request_channel))),
    )
    made = [
        Metric(domain=domain, type=kind, name=name, broker=broker.id, value=value)
        for domain, kind, name, value in (*gauges, *_of_planes(server))
    ]
    for acceptor in server.acceptors.values():
        made.extend(_of_acceptor(broker, acceptor))
    return made


def _of_planes(server: SocketServer) -> list[tuple[str, str, str, float]]:
    """Return the metrics of each plane, and of the memory that both share."""
    expired = {True: 0.0, False: 0.0}
    for processor in server.processors:
        counts = processor.sasl_counts
        if counts is not None:
            expired[processor.acceptor.plane is server.data_plane] += counts.expired_sessions
    made = [("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount", expired[True])]
    if server.control_plane is not None:
        size = float(len(server.control_plane.request_channel))
        made += [
            ("kafka.network", "RequestChannel", "ControlPlaneRequestQueueSize", size),
            ("kafka.network", "SocketServer", "ControlPlaneExpiredConnectionsKilledCount", expired[False]),
            (
                "kafka.network",
                "SocketServer",
                "ControlPlaneNetworkProcessorAvgIdlePercent",
                server.processor_idle_ratio(server.control_plane),
            ),
        ]
    if server.memory_pool is not None:
        available = server.memory_pool.available
        made += [
            ("kafka.network", "SocketServer", "MemoryPoolAvailable", float(available)),
            ("kafka.network", "SocketServer", "MemoryPoolUsed", float(server.memory_pool.size - available)),
        ]
    return made


def _of_acceptor(broker: Broker, acceptor: Acceptor) -> list[Metric]:
    listener = (("listener", acceptor.listener),)
    elapsed_us = max(1, broker.journal.now_us() - acceptor.server.started_us)
    made = [
        Metric(domain="kafka.network", type="Acceptor", name=name, broker=broker.id, tags=listener, value=value)
        for name, value in (
            ("AcceptorBlockedPercent", acceptor.blocked_us() / elapsed_us),
            ("WaitingConnections", float(len(acceptor.waiting))),
        )
    ]
    for processor in acceptor.processors:
        tags = (*listener, ("networkProcessor", str(processor.id)))
        made.append(_server(broker, "socket-server-metrics", "connection-count", float(len(processor.channels)), tags))
        if processor.sasl_counts is not None:
            made += [
                _server(broker, "socket-server-metrics", f"{name}-total", float(count), tags)
                for name, count in processor.sasl_counts.by_name().items()
            ]
    return made


def _of_quotas(broker: Broker) -> list[Metric]:
    quotas = broker.quotas
    now_ms = broker.journal.now_us() // 1000
    made = []
    for kind, name, manager in (
        ("Produce", "byte-rate", quotas.produce),
        ("Fetch", "byte-rate", quotas.fetch),
        ("Request", "request-time", quotas.request),
    ):
        for (user, client_id), rate in manager.rates(now_ms).items():
            tags = (("user", user or ""), ("client-id", client_id or ""))
            made.append(_server(broker, kind, name, rate, tags))
    return made


def _of_controller(cluster: Cluster) -> list[Metric]:
    image = cluster.controller.committed_image
    partitions = [partition for topic in image.topics.values() for partition in topic.partitions]
    gauges = {
        "GlobalTopicCount": len(image.topics),
        "GlobalPartitionCount": len(partitions),
        "OfflinePartitionsCount": sum(not partition.has_leader for partition in partitions),
        "PreferredReplicaImbalanceCount": sum(each.leader != each.preferred_leader for each in partitions),
        "ActiveBrokerCount": sum(not broker.fenced for broker in image.brokers.values()),
        "FencedBrokerCount": sum(broker.fenced for broker in image.brokers.values()),
        "ActiveControllerCount": int(cluster.active_controller is not None),
    }
    made = [
        Metric(domain="kafka.controller", type="KafkaController", name=name, broker=None, value=float(value))
        for name, value in gauges.items()
    ]
    elapsed_s = max(SHORTEST_S, (cluster.journal.now_us() - cluster.started_us) / 1e6)
    elections = [event for event in cluster.journal.events_of(LeaderElected) if isinstance(event, LeaderElected)]
    unclean = sum(event.unclean for event in elections)
    meter = Meter(count=unclean, mean_rate=unclean / elapsed_s)
    name = "UncleanLeaderElectionsPerSec"
    made.append(Metric(domain="kafka.controller", type="ControllerStats", name=name, broker=None, value=meter))
    return made


def _server(broker: Broker, kind: str, name: str, value: Value, tags: tuple[tuple[str, str], ...] = ()) -> Metric:
    return Metric(domain="kafka.server", type=kind, name=name, broker=broker.id, tags=tags, value=value)
