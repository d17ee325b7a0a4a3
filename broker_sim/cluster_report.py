"""The state of a cluster as text, for a failed test: rules, nodes, groups, transactions, last requests."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.cluster_state import group_status
from broker_sim.control.events import (
    BYTES_FIELDS,
    BrokerFenced,
    BrokerKilled,
    BrokerPaused,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
    ConnectionClosed,
    ControllerElected,
    ControllerKilled,
    ControllerStarted,
    Detail,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRequestRefused,
    GroupStateChanged,
    LeaderElected,
    LinkChanged,
    LogDirFailed,
    LogTruncated,
    PowerLost,
    ProduceCompleted,
    RequestReceived,
    TailLost,
    TransactionStateChanged,
)
from broker_sim.control.group_events import group_event_text, member_names
from broker_sim.control.transaction_events import transaction_event_text, transactions_of
from protocol_specs.error_codes import ErrorCode
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.engine import RuleReport

__all__ = ["cluster_report"]

EVENTS_MAX: Final = 20
REQUESTS_MAX: Final = 20
REFUSED_MAX: Final = 10
IDS_MAX: Final = 10
EVENTS_OF_AN_ID_MAX: Final = 20
PEER_CLOSED: Final = "the peer closed it"
NODE_EVENTS: Final = (
    BrokerFenced,
    BrokerKilled,
    BrokerPaused,
    BrokerResumed,
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
NOT_SHOWN: Final = BYTES_FIELDS | {"broker_id", "time_us", "topic", "partition"}
OFFSETS_MAX: Final = 6
"""The most partitions of a group whose committed offsets are reported."""
MEMBERSHIP_EVENTS: Final = (GroupMemberJoined, GroupMemberRemoved, GroupRequestRefused, GroupStateChanged)
"""The events of groups that are reported: an assignment or a commit rarely explains a failure."""
MembershipEvent: TypeAlias = GroupMemberJoined | GroupMemberRemoved | GroupRequestRefused | GroupStateChanged


def cluster_report(cluster: Cluster, journal: Path | None = None) -> str:
    """Return the report, one section per heading; times are seconds since the cluster was made.

    `journal` is the file that holds the cluster's journal, for the commands that read it.
    """
    down = [broker.id for broker in cluster.brokers.values() if not broker.alive]
    state = f", down: {', '.join(map(str, down))}" if down else ""
    lines = [f"{len(cluster.brokers)} brokers of release {cluster.config.release}, {cluster.bootstrap_servers}{state}"]
    events = cluster.journal.events
    start_us = cluster.started_us
    sections = (
        ("fault rules", [_rule_line(report) for report in cluster.faults.reports()]),
        ("nodes and leaders", _event_lines(events, start_us)),
        ("refused requests", _refused_lines(events, start_us)),
        ("groups", list(_group_lines(cluster, start_us, journal))),
        ("transactions", list(_transaction_lines(events, start_us, journal))),
        (f"last {REQUESTS_MAX} requests of clients", _request_lines(events, start_us, cluster.journal.detail)),
    )
    for heading, section in sections:
        if section:
            lines += [f"{heading}:", *(f"  {line}" for line in section)]
    return "\n".join(lines)


def _rule_line(report: RuleReport) -> str:
    counts = f"fired {plural(report.fired, 'time')}, {plural(report.matched, 'request')} fitted"
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


def _group_lines(cluster: Cluster, start_us: int, journal: Path | None) -> Iterator[str]:
    """Return the joins, removals, rebalances and refused requests of each group and what it has committed.

    Then follows the command for the rest.
    """
    groups: dict[str, list[MembershipEvent]] = {}
    for event in cluster.journal.events:
        if isinstance(event, MEMBERSHIP_EVENTS):
            groups.setdefault(event.group_id, []).append(event)
    for group_id, own in list(groups.items())[-IDS_MAX:]:
        names = member_names(own)
        states = [event.state for event in own if isinstance(event, GroupStateChanged)]
        lines = [f"{_seconds(event, start_us)} {group_event_text(event, names)}" for event in own]
        yield from _life_lines(
            group_id, states, lines, None if journal is None else _command(journal, "group", group_id)
        )
        status = group_status(cluster, group_id)
        if status is not None and status.offsets:
            offsets = [
                f"{each.topic}-{each.partition} {each.offset}" + ("" if each.lag is None else f" (lag {each.lag})")
                for each in status.offsets
            ]
            left_out = len(offsets) - OFFSETS_MAX
            more = f", and {left_out} more partitions" if left_out > 0 else ""
            yield f"  committed: {', '.join(offsets[:OFFSETS_MAX])}{more}"
    yield from _left_out(len(groups), "groups")


def _transaction_lines(events: Iterable[Event], start_us: int, journal: Path | None) -> Iterator[str]:
    """Return the states, markers and refused requests of each transactional id, then the command for the rest."""
    found = transactions_of(events)
    for name, own in list(found.items())[-IDS_MAX:]:
        states = [event.state for event in own if isinstance(event, TransactionStateChanged)]
        lines = [f"{_seconds(event, start_us)} {transaction_event_text(event)}" for event in own]
        yield from _life_lines(name, states, lines, None if journal is None else _command(journal, "transaction", name))
    yield from _left_out(len(found), "transactional ids")


def _life_lines(name: str, states: Sequence[str], lines: Sequence[str], command: str | None) -> Iterator[str]:
    yield f"{name}: {states[-1] if states else 'no state'}"
    for line in _last(lines, EVENTS_OF_AN_ID_MAX, len(lines)):
        yield f"  {line}"
    if command is not None:
        yield f"  {command}"


def _command(journal: Path, option: str, name: str) -> str:
    return f"broker-sim trace {shlex.quote(str(journal))} --{option} {shlex.quote(name)}"


def _left_out(count: int, kind: str) -> Iterator[str]:
    if count > IDS_MAX:
        yield f"({count - IDS_MAX} earlier {kind} are in the journal)"


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
