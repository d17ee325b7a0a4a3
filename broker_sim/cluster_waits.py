"""Waits for a state of the cluster: a leader, an ISR, a rule that has fired, a group. They follow the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from twisted.internet.defer import Deferred

from broker_sim.cluster_state import group_status, groups, topic_status, transaction_status
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.modern.epoch_group import GroupState
from broker_sim.coordinators.transactions.transaction_state import TransactionState
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.stored_records import stored_records
from sim_runtime.deadlines import deadline, sleep
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from broker_sim.cluster import Cluster
    from broker_sim.cluster_state import GroupStatus, TransactionStatus
    from broker_sim.control.events import Event
    from broker_sim.stored_records import StoredRecord

__all__ = [
    "wait_for_group",
    "wait_for_isr",
    "wait_for_leader",
    "wait_for_records",
    "wait_for_rule",
    "wait_for_transaction",
    "wait_until",
    "wait_until_quiet",
]

T = TypeVar("T")

OPTION = "timeout_s"
GROUP_STATES: Final = tuple(dict.fromkeys(state.value for state in (*ClassicGroupState, *GroupState)))
TRANSACTION_STATES: Final = tuple(state.label for state in TransactionState)


def wait_until(
    cluster: Cluster, find: Callable[[], T | None], *, awaited: Callable[[], str], timeout_ms: float
) -> Deferred[T]:
    """Call `find` now and after each event of the journal; fires with its first result that is not None.

    Fails with DeadlineExceeded, which names what was awaited and the state then, after `timeout_ms`.
    """
    found: Deferred[T] = Deferred()
    scheduled = False

    def check() -> None:
        nonlocal scheduled
        scheduled = False
        if found.called:
            return
        try:
            result = find()
        except Exception:  # noqa: BLE001 - it is raised by the Deferred
            found.errback()
            return
        if result is not None:
            found.callback(result)

    def on_event(_: Event) -> None:
        nonlocal scheduled
        if not scheduled:
            # After the loop iteration of the event: the cluster is in the middle of the change now.
            scheduled = True
            cluster.reactor.callLater(0, check)

    unsubscribe = cluster.journal.subscribe(on_event)

    def end(result: T) -> T:
        unsubscribe()
        return result

    found.addBoth(end)
    check()
    return deadline(cluster.reactor, found, timeout_ms, awaited=awaited, option=OPTION)


def wait_for_leader(
    cluster: Cluster, topic: str, partition: int, *, other_than: int | None, timeout_ms: float
) -> Deferred[int]:
    """Wait until a partition has a leader whose broker runs, and which is not `other_than`; fires with its id."""

    def find() -> int | None:
        leader = cluster.leader_of(topic, partition)
        if leader is None or leader == other_than or not cluster.is_running(leader):
            return None
        return leader

    def awaited() -> str:
        other = "" if other_than is None else f" other than broker {other_than}"
        return f"a running leader of {topic}-{partition}{other} (now: {cluster.leader_of(topic, partition)})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_controller(cluster: Cluster, *, other_than: int | None, timeout_ms: float) -> Deferred[int]:
    """Wait until there is an active controller, and it is not `other_than`; fires with its node id."""

    def find() -> int | None:
        active = cluster.active_controller
        return None if active == other_than else active

    def awaited() -> str:
        other = "" if other_than is None else f" other than node {other_than}"
        return f"an active controller{other} (now: {cluster.active_controller})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_isr(
    cluster: Cluster, topic: str, partition: int, brokers: Collection[int] | None, *, timeout_ms: float
) -> Deferred[tuple[int, ...]]:
    """Wait until the ISR of a partition is `brokers`, by default all of its replicas; fires with the ISR.

    Raises BrokerSimError for an id that no broker has.
    """
    for broker_id in brokers or ():
        cluster.broker(broker_id)

    def find() -> tuple[int, ...] | None:
        registration = cluster.registration_of(topic, partition)
        wanted = set(registration.replicas if brokers is None else brokers)
        return registration.isr if set(registration.isr) == wanted else None

    def awaited() -> str:
        registration = cluster.registration_of(topic, partition)
        wanted = list(registration.replicas if brokers is None else brokers)
        return f"the ISR {wanted} of {topic}-{partition} (now: {list(registration.isr)})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_rule(cluster: Cluster, name: str, fired: int, *, timeout_ms: float) -> Deferred[int]:
    """Wait until a rule has fired at least `fired` times; fires with the number of times."""

    def find() -> int | None:
        count = cluster.faults.fired(name)
        return count if count >= fired else None

    def awaited() -> str:
        return f"rule {name!r} to fire {plural(fired, 'time')} (now: {cluster.faults.fired(name)})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_records(cluster: Cluster, topic: str, count: int, *, timeout_ms: float) -> Deferred[list[StoredRecord]]:
    """Wait until the leaders of a topic have stored at least `count` records; fires with all of them.

    Raises BrokerSimError for an unknown topic. A partition without a leader has none meanwhile.
    """
    if topic not in cluster.partition_counts:
        raise BrokerSimError(f"there is no topic {topic!r}{nearest(topic, cluster.partition_counts)}")
    cluster.journal.wants_batches = True  # else an append has no event
    stored: list[StoredRecord] = []

    def find() -> list[StoredRecord] | None:
        stored[:] = [
            record
            for partition in range(cluster.partition_counts[topic])
            if cluster.leader_of(topic, partition) is not None
            for record in stored_records(cluster, topic, partition)
        ]
        return stored if len(stored) >= count else None

    def awaited() -> str:
        return f"{count} records of {topic} (now: {len(stored)})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_group(
    cluster: Cluster, group_id: str, state: str, members: int | None, *, timeout_ms: float
) -> Deferred[GroupStatus]:
    """Wait until a group has a state, such as "Stable", and so many members if given; fires with the group.

    Raises BrokerSimError for a state that no group has.
    """
    _check_state(state, GROUP_STATES, "group")

    if members is not None and members < 0:
        raise BrokerSimError(f"members: {members} is below 0")

    def find() -> GroupStatus | None:
        found = group_status(cluster, group_id)
        if found is None or found.state.lower() != state.lower():
            return None
        return found if members in (None, len(found.members)) else None

    def awaited() -> str:
        wanted = "" if members is None else f" with {members} members"
        found = group_status(cluster, group_id)
        if found is None:
            others = ", ".join(repr(each.group_id) for each in groups(cluster)) or "none"
            now = f"no such group; there are {others}"
        else:
            now = f"{found.state} with {len(found.members)} members"
        return f"group {group_id!r} in the state {state}{wanted} (now: {now})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def wait_for_transaction(
    cluster: Cluster, transactional_id: str, state: str, *, timeout_ms: float
) -> Deferred[TransactionStatus]:
    """Wait until a transactional id has a state, such as "CompleteCommit"; fires with its status.

    Raises BrokerSimError for a state that no transactional id has.
    """
    _check_state(state, TRANSACTION_STATES, "transactional id")

    def find() -> TransactionStatus | None:
        found = transaction_status(cluster, transactional_id)
        return found if found is not None and found.state.lower() == state.lower() else None

    def awaited() -> str:
        found = transaction_status(cluster, transactional_id)
        now = "no such id" if found is None else found.state
        return f"transactional id {transactional_id!r} in the state {state} (now: {now})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)


def _check_state(state: str, known: tuple[str, ...], what: str) -> None:
    if state.lower() not in {each.lower() for each in known}:
        raise BrokerSimError(
            f"state: no {what} has a state {state!r}{nearest(state, known)}; expected one of {', '.join(known)}"
        )


def wait_until_quiet(cluster: Cluster, quiet_ms: float, *, timeout_ms: float) -> Deferred[None]:
    """Wait until the cluster is at rest and stays so: all nodes run, all replicas are equal, no log or group changes.

    Fires when none of this has changed for `quiet_ms`. Consumers may go on to poll.

    Raises:
        BrokerSimError: `quiet_ms` is negative.
    """
    if quiet_ms < 0:
        raise BrokerSimError(f"quiet_ms: {quiet_ms:g} is negative; expected milliseconds of at least 0")
    reasons: list[str] = []

    async def run() -> None:
        before = None
        while True:
            now = _resting_state(cluster)
            reasons[:] = cluster.pending()
            if not reasons and now == before:
                return
            before = None if reasons else now
            if not reasons:
                reasons[:] = ["logs or groups change"]
            await sleep(cluster.reactor, quiet_ms)

    def awaited() -> str:
        return f"a cluster that is at rest for {quiet_ms:g} ms (now: {'; '.join(reasons)})"

    return deadline(cluster.reactor, Deferred.fromCoroutine(run()), timeout_ms, awaited=awaited, option=OPTION)


def _resting_state(cluster: Cluster) -> object:
    ends = [each.log_end_offset for topic in topic_status(cluster) for each in topic.partitions]
    return ends, [(group.group_id, group.state, group.epoch, len(group.members)) for group in groups(cluster)]
