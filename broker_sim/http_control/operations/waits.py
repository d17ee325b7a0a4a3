"""Calls that respond when the cluster has a state, or with status 504 after `timeout_ms`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim import cluster_waits
from broker_sim.cluster_state import GroupStatus, TransactionStatus
from broker_sim.errors import BrokerSimError
from broker_sim.http_control.operation import CLUSTER, Operation
from broker_sim.http_control.operations.rules import rule_of

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]

TIMEOUT_MS: Final = 20_000
TIMEOUT_MS_MAX: Final = 600_000
WAIT: Final = f"{CLUSTER}/wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderQuery:
    """A partition, and a broker that is not to be its leader."""

    topic: str
    partition: int = 0
    other_than: int | None = None
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Leader:
    """The broker id of a leader."""

    leader: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerQuery:
    """A node that is not to be the active controller."""

    other_than: int | None = None
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Controller:
    """The node id of the active controller."""

    controller: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrQuery:
    """A partition and its ISR, `1,2`; by default all of its replicas."""

    topic: str
    partition: int = 0
    brokers: str | None = None
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Isr:
    """The broker ids of an ISR."""

    isr: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQuery:
    """A rule, and how often it is to have fired."""

    rule: str
    fired: int = 1
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Fired:
    """How often a rule has fired."""

    fired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuery:
    """A group, the state that it is to have, and the number of its members."""

    group: str
    state: str = "Stable"
    members: int | None = None
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsQuery:
    """A topic, and how many records its leaders are to have stored."""

    topic: str
    count: int = 1
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records the leaders of a topic have stored."""

    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionQuery:
    """A transactional id and the state that it is to have."""

    transactional_id: str
    state: str = "CompleteCommit"
    timeout_ms: float = TIMEOUT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietQuery:
    """For how long nothing is to change."""

    quiet_ms: float = 100
    timeout_ms: float = TIMEOUT_MS


def _timeout(call: Call) -> float:
    timeout_ms: float = call.query.timeout_ms
    if not 0 < timeout_ms <= TIMEOUT_MS_MAX:
        raise BrokerSimError(f"timeout_ms: {timeout_ms:g} is not above 0 and at most {TIMEOUT_MS_MAX}")
    return timeout_ms


def leader(call: Call) -> Deferred[Leader]:
    """Wait for a leader."""
    query = call.query
    found = cluster_waits.wait_for_leader(
        call.cluster, query.topic, query.partition, other_than=query.other_than, timeout_ms=_timeout(call)
    )
    return found.addCallback(Leader)


def controller(call: Call) -> Deferred[Controller]:
    """Wait for an active controller."""
    found = cluster_waits.wait_for_controller(call.cluster, other_than=call.query.other_than, timeout_ms=_timeout(call))
    return found.addCallback(Controller)


def isr(call: Call) -> Deferred[Isr]:
    """Wait for an ISR."""
    query = call.query
    brokers = None if query.brokers is None else _ids(query.brokers)
    found = cluster_waits.wait_for_isr(call.cluster, query.topic, query.partition, brokers, timeout_ms=_timeout(call))
    return found.addCallback(lambda members: Isr(list(members)))


def _ids(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise BrokerSimError(f"brokers: {text!r} is not a list of broker ids, such as 1,2")
    return [int(part) for part in parts]


def rule(call: Call) -> Deferred[Fired]:
    """Wait until a rule has fired."""
    name = rule_of(call, call.query.rule)
    found = cluster_waits.wait_for_rule(call.cluster, name, call.query.fired, timeout_ms=_timeout(call))
    return found.addCallback(Fired)


def group(call: Call) -> Deferred[GroupStatus]:
    """Wait for a state of a group."""
    query = call.query
    return cluster_waits.wait_for_group(
        call.cluster, query.group, query.state, query.members, timeout_ms=_timeout(call)
    )


def records(call: Call) -> Deferred[RecordCount]:
    """Wait for records."""
    query = call.query
    found = cluster_waits.wait_for_records(call.cluster, query.topic, query.count, timeout_ms=_timeout(call))
    return found.addCallback(lambda stored: RecordCount(len(stored)))


def transaction(call: Call) -> Deferred[TransactionStatus]:
    """Wait for a state of a transactional id."""
    query = call.query
    return cluster_waits.wait_for_transaction(
        call.cluster, query.transactional_id, query.state, timeout_ms=_timeout(call)
    )


def quiet(call: Call) -> Deferred[None]:
    """Wait until the cluster is at rest."""
    return cluster_waits.wait_until_quiet(call.cluster, call.query.quiet_ms, timeout_ms=_timeout(call))


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{WAIT}/leader",
        name="waitForLeader",
        summary="Wait until a partition has a leader whose broker runs.",
        handle=leader,
        query=LeaderQuery,
        result=Leader,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/controller",
        name="waitForController",
        summary="Wait until there is an active controller.",
        handle=controller,
        query=ControllerQuery,
        result=Controller,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/isr",
        name="waitForIsr",
        summary="Wait until the ISR of a partition is the given one, by default all of its replicas.",
        handle=isr,
        query=IsrQuery,
        result=Isr,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/rule",
        name="waitForRule",
        summary="Wait until a rule has fired so often.",
        handle=rule,
        query=RuleQuery,
        result=Fired,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/records",
        name="waitForRecords",
        summary="Wait until the leaders of a topic have stored so many records.",
        handle=records,
        query=RecordsQuery,
        result=RecordCount,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/group",
        name="waitForGroup",
        summary="Wait until a group has a state, and so many members if given.",
        handle=group,
        query=GroupQuery,
        result=GroupStatus,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/transaction",
        name="waitForTransaction",
        summary="Wait until a transactional id has a state.",
        handle=transaction,
        query=TransactionQuery,
        result=TransactionStatus,
    ),
    Operation(
        method="GET",
        path=f"{WAIT}/quiet",
        name="waitUntilQuiet",
        summary="Wait until all nodes run, all replicas are equal, and no log or group has changed for `quiet_ms`.",
        handle=quiet,
        query=QuietQuery,
        status=204,
    ),
)
