from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

ACCEPT, RELEASE = 1, 2
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
