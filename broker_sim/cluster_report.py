"""The state of a cluster as text, for a failed test: rules, what happened to nodes, refused requests, last requests."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from broker_sim.control.events import (
    BrokerFenced,
    BrokerKilled,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
    ConnectionClosed,
    ControllerElected,
    ControllerKilled,
    ControllerStarted,
    Detail,
    LeaderElected,
    LinkChanged,
    LogDirFailed,
    LogTruncated,
    PowerLost,
    ProduceCompleted,
    RequestReceived,
    TailLost,
)
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.engine import RuleReport

__all__ = ["cluster_report"]

EVENTS_MAX: Final = 20
REQUESTS_MAX: Final = 20
REFUSED_MAX: Final = 10
PEER_CLOSED: Final = "the peer closed it"
NODE_EVENTS: Final = (
    BrokerFenced,
    BrokerKilled,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
    ControllerElected,
    ControllerKilled,
    ControllerStarted,
    LeaderElected,
    LinkChanged,
    LogDirFailed,
    LogTruncated,
    PowerLost,
    TailLost,
)
NOT_SHOWN: Final = {"batches", "broker_id", "time_us", "topic", "partition"}
GROUPS_MISSING: Final = (
    "consumer groups and transactions are not served yet: use assign() instead of subscribe(), and no commits"
)


def cluster_report(cluster: Cluster) -> str:
    """Return the report, one section per heading; times are seconds since the cluster was made."""
    down = [broker.id for broker in cluster.brokers.values() if not broker.alive]
    state = f", down: {', '.join(map(str, down))}" if down else ""
    lines = [f"{len(cluster.brokers)} brokers of release {cluster.config.release}, {cluster.bootstrap_servers}{state}"]
    events = cluster.journal.events
    start_us = cluster.started_us
    sections = (
        ("fault rules", [_rule_line(report) for report in cluster.faults.reports()]),
        ("nodes and leaders", _event_lines(events, start_us)),
        ("refused requests", _refused_lines(events, start_us)),
        ("group coordinator", _group_lines(events)),
        (f"last {REQUESTS_MAX} requests of clients", _request_lines(events, start_us, cluster.journal.detail)),
    )
    for heading, section in sections:
        if section:
            lines += [f"{heading}:", *(f"  {line}" for line in section)]
    return "\n".join(lines)


def _rule_line(report: RuleReport) -> str:
    counts = f"fired {report.fired} times, {report.matched} requests fitted"
    return f"{report.name}: {report.act}, {counts}" + (f"; {report.problem}" if report.problem else "")


def _event_lines(events: Iterable[Event], start_us: int) -> list[str]:
    lines = []
    started: set[int] = set()
    for event in events:
        if isinstance(event, BrokerStarted) and event.broker_id not in started:
            started.add(event.broker_id)  # the start of the cluster itself is left out
        elif isinstance(event, LeaderElected) and event.leader_epoch == 0:
            pass  # the first leader of a new partition
        elif isinstance(event, NODE_EVENTS):
            lines.append(_event_line(event, start_us))
    return list(_last(lines, EVENTS_MAX, len(lines)))


def _event_line(event: Event, start_us: int) -> str:
    topic, partition = getattr(event, "topic", None), getattr(event, "partition", None)
    where = "" if topic is None else f" {topic}-{partition}"
    values = " ".join(
        f"{field.name}={getattr(event, field.name)}" for field in fields(event) if field.name not in NOT_SHOWN
    )
    return f"{_seconds(event, start_us)} {event.kind} broker={event.broker_id}{where} {values}".rstrip()


def _refused_lines(events: Iterable[Event], start_us: int) -> list[str]:
    lines = []
    for event in events:
        at = _seconds(event, start_us)
        if isinstance(event, ConnectionClosed) and not event.reason.startswith(PEER_CLOSED):
            lines.append(f"{at} broker {event.broker_id} closed {event.connection_id}: {event.reason}")
        elif isinstance(event, ProduceCompleted) and event.error_code:
            name = ErrorCode(event.error_code).name
            lines.append(f"{at} broker {event.broker_id} Produce to {event.topic}-{event.partition}: {name}")
    return list(_last(lines, REFUSED_MAX, len(lines)))


def _group_lines(events: Iterable[Event]) -> list[str]:
    counts: dict[str | None, int] = {}
    for event in events:
        if isinstance(event, RequestReceived) and event.api == "FindCoordinator":
            counts[event.client_id] = counts.get(event.client_id, 0) + 1
    return [
        f"client {client!r} requested a coordinator {count} times: {GROUPS_MISSING}" for client, count in counts.items()
    ]


def _request_lines(events: Iterable[Event], start_us: int, detail: Detail) -> list[str]:
    if detail is not Detail.FULL:
        return ["the journal keeps no requests: journal_detail=Detail.FULL does"]
    requests = [event for event in events if isinstance(event, RequestReceived) and event.replica_id < 0]
    return [
        f"{_seconds(event, start_us)} broker {event.broker_id} {event.api} v{event.api_version} "
        f"client={event.client_id} correlation_id={event.correlation_id} {event.size} bytes"
        for event in requests[-REQUESTS_MAX:]
    ]


def _last(lines: Iterable[str], limit: int, count: int) -> Iterator[str]:
    if count > limit:
        yield f"({count - limit} earlier ones are in the journal)"
    for place, line in enumerate(lines):
        if place >= count - limit:
            yield line


def _seconds(event: Event, start_us: int) -> str:
    return f"{(event.time_us - start_us) / 1e6:8.3f} s"
