"""Calls on clusters: list, create, describe, reset, close, and their metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.http_control.operation import CLUSTER, Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.cluster import Cluster
    from broker_sim.http_control.clusters import HostedCluster
    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS", "NewCluster"]

JOURNAL_EVENTS_KEPT: Final = 100_000
"""How many events of each kind a controlled cluster keeps for queries."""
BROKERS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCluster:
    """The shape of a cluster; every key is optional. A topic is `name:partitions:replication`."""

    name: str | None = None
    brokers: int = 3
    controllers: int = 1
    topics: list[str] = field(default_factory=list)
    config: dict[str, str | int | float | bool] = field(default_factory=dict)
    release: str = DEFAULT_RELEASE
    host: str = "127.0.0.1"
    seed: int = 0
    quick_failover: bool = True
    """A killed broker is noticed after 1 s, not after Kafka's 9 s."""
    quick_groups: bool = True
    """A new group does not wait for more members, as it does 3 s with Kafka's defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """One running cluster."""

    name: str
    cluster_id: str
    release: str
    bootstrap_servers: str
    controller_bootstrap_servers: str
    brokers: list[int]
    brokers_down: list[int]
    active_controller: int | None
    topics: list[str]


def describe(hosted: HostedCluster) -> ClusterDescription:
    """Return the description of a cluster."""
    cluster = hosted.cluster
    return ClusterDescription(
        name=hosted.name,
        cluster_id=cluster.cluster_id,
        release=cluster.config.release,
        bootstrap_servers=cluster.bootstrap_servers,
        controller_bootstrap_servers=cluster.controller_bootstrap_servers,
        brokers=cluster.broker_ids,
        brokers_down=[broker for broker in cluster.broker_ids if not cluster.is_running(broker)],
        active_controller=cluster.active_controller,
        topics=list(cluster.partition_counts),
    )


def listed(call: Call) -> list[ClusterDescription]:
    """Return all clusters."""
    return [describe(hosted) for hosted in call.clusters]


def described(call: Call) -> ClusterDescription:
    """Return one cluster."""
    return describe(call.hosted)


def created(call: Call) -> ClusterDescription:
    """Start a cluster on free ports."""
    wanted = call.body or NewCluster()
    make = partial(_make, wanted, call.clusters.reactor)
    return describe(call.clusters.start(wanted.name or call.clusters.free_name(), make))


def _make(wanted: NewCluster, reactor: Any, ports: Sequence[int], controller_ports: Sequence[int] | None) -> Cluster:
    from broker_sim.cluster import Cluster
    from broker_sim.control.journal import Detail
    from broker_sim.quick_settings import quick_settings
    from sim_runtime.random_streams import RandomStreams

    quick = quick_settings(wanted.release, failover=wanted.quick_failover, groups=wanted.quick_groups)
    cluster = Cluster(
        reactor=reactor,
        brokers=wanted.brokers,
        controllers=wanted.controllers,
        topics=wanted.topics,
        config={**quick, **wanted.config},
        streams=RandomStreams(wanted.seed),
        release=wanted.release,
        host=wanted.host,
        ports=ports or None,
        controller_ports=controller_ports,
        journal_detail=Detail.FULL,
        journal_limit_events=JOURNAL_EVENTS_KEPT,
    )
    if wanted.quick_groups:
        cluster.set_up_early()
    return cluster


def reset(call: Call) -> Deferred[ClusterDescription]:
    """Replace a cluster by a new one on its ports."""
    return call.clusters.reset(call.path["cluster"]).addCallback(describe)


def closed(call: Call) -> Deferred[None]:
    """Close a cluster."""
    return call.clusters.close(call.path["cluster"])


def metrics(call: Call) -> str:
    """Return the metrics of a cluster as Prometheus text."""
    from broker_sim.metrics.prometheus import render

    return render(call.cluster.metrics())


def report(call: Call) -> str:
    """Return the report that a failed test has."""
    from broker_sim.cluster_report import cluster_report

    return cluster_report(call.cluster) + "\n"


OPERATIONS = (
    Operation(
        method="GET",
        path="/clusters",
        name="listClusters",
        summary="All clusters of this process.",
        handle=listed,
        result=list[ClusterDescription],
    ),
    Operation(
        method="POST",
        path="/clusters",
        name="createCluster",
        summary="Start a cluster on free ports.",
        handle=created,
        body=NewCluster,
        body_is_optional=True,
        result=ClusterDescription,
        status=201,
    ),
    Operation(
        method="GET",
        path=CLUSTER,
        name="getCluster",
        summary="One cluster: its addresses, release, brokers and topics.",
        handle=described,
        result=ClusterDescription,
    ),
    Operation(
        method="DELETE",
        path=CLUSTER,
        name="closeCluster",
        summary="Stop a cluster and forget it.",
        handle=closed,
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{CLUSTER}/reset",
        name="resetCluster",
        summary="Replace a cluster by a new one of the same shape on the same ports: no record, group, rule or fault "
        "is left, the topics that it had from the start exist, and clients reconnect.",
        handle=reset,
        result=ClusterDescription,
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/metrics",
        name="getMetrics",
        summary="The metrics of brokers and controller in Prometheus text format.",
        handle=metrics,
        result=str,
        media_type="text/plain; version=0.0.4",
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/report",
        name="getReport",
        summary="The state as text: rules, crashes and elections, refused requests, groups, last requests.",
        handle=report,
        result=str,
        media_type="text/plain; charset=utf-8",
    ),
)
