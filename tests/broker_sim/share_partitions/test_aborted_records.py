"""Share groups that read committed records alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.config.config_resource import ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker_sim.log.transactional_log import ABORT, COMMIT, marker, records

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

ORDERS = TopicPartition("orders", 0)
SET = 0


def set_isolation(share: ShareGroupBench, level: str) -> None:
    change = AlterableConfig(name="share.isolation.level", config_operation=SET, value=level)
    resource = AlterConfigsResource(resource_type=ResourceType.GROUP, resource_name="g", configs=[change])
    [response] = share.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert response.error_code == 0, response.error_message
    share.run(100)


def write_transactions(share: ShareGroupBench) -> None:
    """Offsets 0 to 1 aborted, 2 plain, 3 committed, then both markers; 6 is open."""
    manager = share.cluster.brokers[1].replica_manager
    for data in (
        records(0, count=2),
        records(0, producer=1, transactional=False),
        records(0, producer=8),
    ):
        manager.append_records(1, 1000, -1, [(ORDERS, data)])
    manager.append_markers(1000, {ORDERS: marker(ABORT)}, 0)
    manager.append_markers(1000, {ORDERS: marker(COMMIT, producer=8)}, 0)
    manager.append_records(1, 1000, -1, [(ORDERS, records(2))])


@pytest.mark.parametrize(("level", "ranges"), [("read_uncommitted", [(0, 6, 1)]), ("read_committed", [(2, 5, 1)])])
def test_a_group_gets_no_aborted_record_and_none_of_an_open_transaction(
    share_group: Callable[..., ShareGroupBench], level: str, ranges: list[tuple[int, int, int]]
) -> None:
    share = share_group(transaction_partition_verification_enable="false")
    set_isolation(share, level)
    write_transactions(share)
    assert share.acquired() == ranges


def test_the_middle_of_a_range_is_taken_out_and_never_delivered_again(
    share_group: Callable[..., ShareGroupBench],
) -> None:
    share = share_group(transaction_partition_verification_enable="false")
    set_isolation(share, "read_committed")
    share.produce(2)
    write_transactions(share)
    assert share.acquired() == [(0, 1, 1), (4, 7, 1)]
    assert share.acknowledged((0, 1, [2]), (4, 7, [2])) == (0, None)
    assert share.acquired("other") == [(0, 1, 2), (4, 7, 2)]
