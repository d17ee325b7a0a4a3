"""The client of a heartbeat, as the description of its member has it."""

from __future__ import annotations

import pytest

from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology
from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench

MEMBER = {"group_id": "g", "member_id": "m", "member_epoch": 0}
NOTHING_OWNED = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}


@pytest.mark.parametrize(
    ("join", "describe", "version"),
    [
        (
            ConsumerGroupHeartbeatRequest(
                **MEMBER, subscribed_topic_names=["orders"], topic_partitions=[], rebalance_timeout_ms=9000
            ),
            ConsumerGroupDescribeRequest(group_ids=["g"]),
            1,
        ),
        (
            ShareGroupHeartbeatRequest(**MEMBER, subscribed_topic_names=["orders"]),
            ShareGroupDescribeRequest(group_ids=["g"]),
            1,
        ),
        (
            StreamsGroupHeartbeatRequest(
                **MEMBER, topology=Topology(), process_id="p", rebalance_timeout_ms=9000, **NOTHING_OWNED
            ),
            StreamsGroupDescribeRequest(group_ids=["g"]),
            0,
        ),
    ],
    ids=["consumer", "share", "streams"],
)
def test_a_member_has_the_id_and_address_of_its_client(join, describe, version):
    bench = ShareGroupsBench()
    assert bench.call(join, version).error_code == 0
    bench.run(100)
    (member,) = bench.call(describe, version).groups[0].members
    assert (member.client_id, member.client_host) == ("tests", "/127.0.0.1")
