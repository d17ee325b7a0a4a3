"""The rules that the descriptions of consumer, share and streams groups have in common."""

from __future__ import annotations

import pytest

from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest
from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench

NO_OPERATIONS = -(2**31)


@pytest.mark.parametrize(
    ("request_type", "version", "text"),
    [
        (ConsumerGroupDescribeRequest, 1, None),
        (ShareGroupDescribeRequest, 1, "This is not the correct coordinator."),
        (StreamsGroupDescribeRequest, 0, None),
    ],
)
def test_only_share_groups_explain_that_their_coordinator_is_not_here(bench, request_type, version, text):
    response = bench().exchange(request_type(group_ids=["g", ""], include_authorized_operations=True), version)
    described = [
        (group.group_id, group.error_code, group.error_message, group.authorized_operations)
        for group in response.groups
    ]
    assert described == [("", 24, None, NO_OPERATIONS), ("g", 16, text, NO_OPERATIONS)]


def test_operations_are_those_of_groups_without_errors():
    bench = ShareGroupsBench()
    bench.call(
        ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["orders"]), 1
    )
    bench.run(100)
    request = ShareGroupDescribeRequest(group_ids=["g", "h"], include_authorized_operations=True)
    described = {group.group_id: group for group in bench.call(request, 1).groups}
    assert (described["g"].error_code, described["g"].authorized_operations) == (0, 3400)
    assert (described["h"].error_code, described["h"].authorized_operations) == (69, NO_OPERATIONS)
    request.include_authorized_operations = False
    assert {group.authorized_operations for group in bench.call(request, 1).groups} == {NO_OPERATIONS}
