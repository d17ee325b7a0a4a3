from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.share.conftest import ShareBench

ACKNOWLEDGED, ARCHIVED = 2, 4


def codes(results: Any) -> list[tuple[int, int]]:
    return [(each.partition, each.error_code) for each in results]


def batches(result: Any) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in result.state_batches
    ]


def test_state_is_read_as_written(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    assert codes(share.initialize(0, 1, epoch=2, start=5)) == [(0, 0), (1, 0)]
    assert share.write(0, (5, 9, ACKNOWLEDGED, 1), (10, 12, 0, 2), state_epoch=2, complete=5).error_code == 0
    one, two = share.read(0, 1)
    assert (one.state_epoch, one.start_offset, batches(one)) == (2, 5, [(5, 9, ACKNOWLEDGED, 1), (10, 12, 0, 2)])
    assert (two.state_epoch, two.start_offset, batches(two)) == (2, 5, [])
    share.write(0, (10, 12, ARCHIVED, 2), state_epoch=2, start=10, complete=3)
    assert batches(share.read(0)[0]) == [(10, 12, ARCHIVED, 2)]
    [summary] = share.summary(0)
    assert (summary.start_offset, summary.delivery_complete_count) == (10, 3)


def test_uninitialized_negative_and_unknown_partitions_are_refused(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    invalid, unknown = ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(share.initialize(-1, 3)) == [(-1, invalid), (3, unknown)]
    assert codes(share.read(0)) == [(0, invalid)]
    refused = share.write(0)
    assert (refused.error_code, refused.error_message) == (
        invalid,
        "Write operation on uninitialized share partition not allowed.",
    )
    assert codes(share.delete(0)) == [(0, 0)]
    [summary] = share.summary(0)
    assert (summary.error_code, summary.start_offset, summary.delivery_complete_count) == (0, -1, -1)


def test_older_epochs_are_fenced_and_minus_one_is_not_checked(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, epoch=3)
    assert codes(share.initialize(0, epoch=2)) == [(0, ErrorCode.FENCED_STATE_EPOCH)]
    assert codes(share.read(0, leader_epoch=7)) == [(0, 0)]
    assert codes(share.read(0, leader_epoch=6)) == [(0, ErrorCode.FENCED_LEADER_EPOCH)]
    assert share.write(0, state_epoch=3, leader_epoch=6).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert share.write(0, state_epoch=2, leader_epoch=7).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert share.write(0, state_epoch=-1, leader_epoch=-1).error_code == 0
    assert share.summary(0)[0].leader_epoch == 7


def test_a_snapshot_follows_so_many_updates(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench(share_coordinator_snapshot_update_records_per_snapshot="3")
    share.initialize(0, start=0)
    for offset in range(4):
        share.write(0, (offset, offset, ACKNOWLEDGED, 1), complete=offset)
    [state] = share.shard.states.values()
    assert state.snapshot_epoch == 1
    assert [tuple(each) for each in state.state_batches] == [(0, 3, 1, ACKNOWLEDGED)]


def test_a_restarted_coordinator_reads_the_state_from_the_log(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, 1, epoch=1, start=0)
    share.write(0, (0, 4, ACKNOWLEDGED, 1), state_epoch=1, complete=5)
    share.delete(1)
    before = share.shard.states.items()
    share.restart()
    assert share.shard.states.items() == before
    assert len(before) == 1


def test_the_state_of_a_deleted_topic_is_deleted(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, 1)
    share.cluster.delete_topic("orders")
    share.settle()
    assert len(share.shard.states) == 0
