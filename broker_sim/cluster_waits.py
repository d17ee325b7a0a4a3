"""Waits for a state of the cluster: a leader, an ISR, a rule that has fired. They follow the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import Deferred

from sim_runtime.deadlines import deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event

__all__ = ["wait_for_isr", "wait_for_leader", "wait_for_rule", "wait_until"]

T = TypeVar("T")

OPTION = "timeout_s"


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
    return deadline(cluster.reactor, found, timeout_ms, awaited=awaited(), option=OPTION)


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


def wait_for_isr(
    cluster: Cluster, topic: str, partition: int, brokers: Collection[int] | None, *, timeout_ms: float
) -> Deferred[tuple[int, ...]]:
    """Wait until the ISR of a partition is `brokers`, by default all of its replicas; fires with the ISR."""

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
        return f"rule {name!r} to fire {fired} times (now: {cluster.faults.fired(name)})"

    return wait_until(cluster, find, awaited=awaited, timeout_ms=timeout_ms)
