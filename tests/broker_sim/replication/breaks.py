"""Mistakes that a replicated log must not make, each to be made on purpose: the machines have to find them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from broker_sim.controller import election
from broker_sim.replication import replica_fetcher
from broker_sim.replication.partition import Partition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


@contextmanager
def _replaced(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, original)


def ack_before_isr() -> AbstractContextManager[None]:
    """acks=all is acknowledged when only the leader has the record."""
    return _replaced(Partition, "enough_replicas_reached", lambda _partition, _offset: ErrorCode.NONE)


def commit_before_isr() -> AbstractContextManager[None]:
    """The high watermark follows the leader's own end."""

    def advance(partition: Partition, now_ms: int) -> bool:
        partition.log.update_high_watermark(partition.log.log_end_offset)
        partition._complete_produces()
        return True

    return _replaced(Partition, "maybe_increment_high_watermark", advance)


def commit_without_newcomers() -> AbstractContextManager[None]:
    """The high watermark waits for the committed ISR alone, not for who is about to join it."""

    def advance(partition: Partition, now_ms: int) -> bool:
        members = [follower for follower in partition.followers.values() if follower.broker_id in partition.isr]
        end = min([partition.log.log_end_offset, *(follower.log_end_offset for follower in members)])
        if partition.under_min_isr or end <= partition.log.high_watermark:
            return False
        partition.log.update_high_watermark(end)
        partition._complete_produces()
        for session in partition.sessions.values():
            session.high_watermark_moved(partition.topic_partition)
        return True

    return _replaced(Partition, "maybe_increment_high_watermark", advance)


def join_without_catching_up() -> AbstractContextManager[None]:
    """A follower joins the ISR with its first fetch."""

    def expand(partition: Partition, follower: Any) -> None:
        if not partition.isr_state.in_flight and partition.is_leader:
            from broker_sim.replication.isr import expanding

            partition._propose(expanding(partition.isr_state.isr, follower.broker_id))

    return _replaced(Partition, "_maybe_expand_isr", expand)


def cut_at_the_high_watermark() -> AbstractContextManager[None]:
    """A follower cuts its log at its own high watermark when a leader disagrees or is new (before KIP-101)."""
    original = replica_fetcher.ReplicaFetcher.add

    def add(fetcher: replica_fetcher.ReplicaFetcher, partition: Partition) -> None:
        partition.truncate_to(partition.log.high_watermark, "broken on purpose")
        original(fetcher, partition)

    return _replaced(replica_fetcher.ReplicaFetcher, "add", add)


def trust_any_epoch() -> AbstractContextManager[None]:
    """No request is fenced, and a follower's last epoch is not compared (without KIP-320 and KIP-595)."""

    @contextmanager
    def broken() -> Iterator[None]:
        def agrees(partition: Partition, _epoch: int, offset: int) -> bool:
            return partition.log.log_start_offset <= offset <= partition.log.log_end_offset

        with (
            _replaced(Partition, "check_access", lambda *_args, **_options: ErrorCode.NONE),
            _replaced(Partition, "agrees_with", agrees),
            _replaced(Partition, "diverging_epoch", lambda *_args: None),
        ):
            yield

    return broken()


def elect_anybody() -> AbstractContextManager[None]:
    """Leaders are elected from all live replicas, also for topics that do not allow it."""
    original = election._elect

    def elect(partition: Any, replicas: Any, isr: Any, elr: Any, rules: Any) -> tuple[int, bool]:
        leader, unclean = original(partition, replicas, isr, elr, rules)
        if leader >= 0:
            return leader, unclean
        return next((replica for replica in replicas if rules.is_acceptable(replica)), -1), False

    return _replaced(election, "_elect", elect)


def forget_on_restart() -> AbstractContextManager[None]:
    """A new leader begins without the last record that it does not know as committed."""
    original = Partition.make_leader

    def lead(partition: Partition, registration: Any) -> bool:
        if not partition.is_leader and partition.log.log_end_offset > partition.log.high_watermark:
            partition.log.truncate_to(partition.log.log_end_offset - 1)
        return original(partition, registration)

    return _replaced(Partition, "make_leader", lead)


BREAKS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        ack_before_isr,
        commit_before_isr,
        commit_without_newcomers,
        join_without_catching_up,
        cut_at_the_high_watermark,
        trust_any_epoch,
        elect_anybody,
        forget_on_restart,
    )
}
