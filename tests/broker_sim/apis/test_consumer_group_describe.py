"""ConsumerGroupDescribe of groups that cannot be described."""

from __future__ import annotations

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest


def test_an_empty_id_comes_first(bench):
    groups = bench().exchange(ConsumerGroupDescribeRequest(group_ids=["g", ""]), 1).groups
    assert [(group.group_id, group.error_code, group.error_message) for group in groups] == [
        ("", ErrorCode.INVALID_GROUP_ID, None),
        ("g", ErrorCode.NOT_COORDINATOR, None),
    ]


def test_every_group_is_refused_where_the_protocol_is_not_served(bench):
    api = bench(config={"group.coordinator.rebalance.protocols": "classic"})
    groups = api.exchange(ConsumerGroupDescribeRequest(group_ids=["g", ""]), 0).groups
    assert [group.error_code for group in groups] == [ErrorCode.UNSUPPORTED_VERSION] * 2
