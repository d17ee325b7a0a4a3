from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

ACCEPT, RELEASE = 1, 2


def test_only_finished_records_at_the_beginning_move_the_start(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(5)
    share.produce(5)
    share.acquired(batch_size=5)
    partition = share.share_partition()
    share.acknowledged((5, 9, [ACCEPT]))
    assert (partition.start_offset, partition.complete_count) == (0, 5)
    share.acknowledged((0, 2, [ACCEPT]))
    assert (partition.start_offset, partition.complete_count) == (3, 5)
    share.acknowledged((3, 4, [ACCEPT]))
    assert (partition.start_offset, partition.end_offset, partition.complete_count) == (10, 10, 0)


def test_the_start_of_the_log_archives_records(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(5)
    share.produce(5)
    share.acquired(batch_size=5)
    share.acknowledged((0, 4, [RELEASE]))
    share.cluster.brokers[1].replica_manager.delete_records({TopicPartition("orders", 0): 7}, timeout_ms=0)
    assert share.acquired() == []
    partition = share.share_partition()
    assert partition.start_offset == 7
    assert share.acknowledged((5, 9, [RELEASE])) == (0, None)
    assert share.acquired() == [(7, 9, 2)]
