from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import ShareRecordsChanged
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

GAP, ACCEPT, RELEASE, REJECT = 0, 1, 2, 3
LOCK_MS = 30_000


def test_records_whose_lock_expires_are_available_again(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(10)
    assert share.acquired() == [(0, 9, 1)]
    assert share.acquired("other") == []
    share.run(LOCK_MS)
    assert share.stored() == [(0, 9, 0, 1)]
    assert share.acquired("other") == [(0, 9, 2)]
    assert share.acknowledged((0, 9, [ACCEPT]))[0] == ErrorCode.INVALID_RECORD_STATE


def test_the_last_delivery_that_fails_archives_the_records(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group(group_share_delivery_count_limit="2")
    share.produce(3)
    for count in (1, 2):
        assert share.acquired() == [(0, 2, count)]
        share.run(LOCK_MS)
    assert share.acquired() == []
    assert share.share_partition().start_offset == 3


def test_a_waiting_fetch_gets_the_records_of_an_expired_lock(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(1)
    share.acquired()
    before = share.reactor.seconds()
    assert share.acquired("other", max_wait_ms=60_000) == [(0, 0, 2)]
    assert LOCK_MS - 1000 < (share.reactor.seconds() - before) * 1000 <= LOCK_MS


def test_another_leader_continues_from_the_stored_state(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    for _ in range(3):
        share.produce(5)
    share.acquired(batch_size=5)
    assert share.acknowledged((5, 9, [ACCEPT])) == (0, None)
    share.reactor.run_until(share.cluster.restart(1), deadline_ms=60_000)
    share.run(1000)
    share.epochs.clear()
    assert share.acquired(batch_size=5, max_wait_ms=5000) == [(0, 4, 1), (10, 14, 1)]
    assert share.share_partition().read_gap is None


def changes(share: ShareGroupBench) -> list[tuple[str, int, int, int, str]]:
    """Return the changes of records in the journal: state, offsets, delivery count, and reason."""
    return [
        (event.state, event.first_offset, event.last_offset, event.delivery_count, event.reason)
        for event in share.cluster.journal.events_of(ShareRecordsChanged)
    ]


def test_the_journal_has_each_change_of_records(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group(group_share_delivery_count_limit="2")
    share.produce(4)
    share.acquired()
    assert share.acknowledged((0, 3, [ACCEPT, REJECT, RELEASE, RELEASE])) == (0, None)
    share.acquired("other", max_records=2)
    share.run(LOCK_MS)
    assert changes(share)[:5] == [
        ("ACQUIRED", 0, 3, 1, ""),
        ("ACKNOWLEDGED", 0, 0, 1, ""),
        ("ARCHIVED", 1, 1, 1, ""),
        ("AVAILABLE", 2, 2, 1, ""),
        ("AVAILABLE", 3, 3, 1, ""),
    ]
    assert ("ARCHIVED", 2, 2, 2, "the acquisition lock has expired") in changes(share)


def test_the_journal_names_a_gap(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(4)
    share.acquired()
    assert share.acknowledged((0, 1, [REJECT]), (2, 2, [GAP])) == (0, None)
    assert changes(share)[1:] == [
        ("ARCHIVED", 0, 0, 1, ""),
        ("ARCHIVED", 1, 1, 1, ""),
        ("ARCHIVED", 2, 2, 1, "acknowledged as a gap"),
    ]


def test_the_journal_names_the_last_delivery(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group(group_share_delivery_count_limit="2")
    share.produce(1)
    for _ in range(2):
        share.acquired()
        assert share.acknowledged((0, 0, [RELEASE])) == (0, None)
    assert changes(share) == [
        ("ACQUIRED", 0, 0, 1, ""),
        ("AVAILABLE", 0, 0, 1, ""),
        ("ACQUIRED", 0, 0, 2, ""),
        ("ARCHIVED", 0, 0, 2, "delivery 2 was the last one"),
    ]


def test_the_journal_has_records_that_the_log_has_lost(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(4)
    share.acquired()
    assert share.acknowledged((0, 3, [RELEASE])) == (0, None)
    share.cluster.brokers[1].replica_manager.delete_records({TopicPartition("orders", 0): 2}, timeout_ms=0)
    share.acquired()
    assert ("ARCHIVED", 0, 0, 1, "below the start of the log") in changes(share)
