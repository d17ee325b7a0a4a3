"""The rules that consumer, share and streams groups have in common, by their heartbeats and descriptions."""

from __future__ import annotations

import pytest

from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology
from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench

HEARTBEATS = {
    "consumer": ConsumerGroupHeartbeatRequest,
    "share": ShareGroupHeartbeatRequest,
    "streams": StreamsGroupHeartbeatRequest,
}
DESCRIBE = {
    "consumer": ConsumerGroupDescribeRequest,
    "share": ShareGroupDescribeRequest,
    "streams": StreamsGroupDescribeRequest,
}
JOINS = {
    "consumer": {"subscribed_topic_names": ["orders"], "topic_partitions": [], "rebalance_timeout_ms": 9000},
    "share": {"subscribed_topic_names": ["orders"]},
    "streams": {
        "topology": Topology(),
        "process_id": "p",
        "rebalance_timeout_ms": 9000,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    },
}
KINDS = list(HEARTBEATS)


class Groups:
    def __init__(self, **config):
        self._bench = ShareGroupsBench(**config)
        self.journal = self._bench.cluster.journal

    def heartbeat(self, kind, member, epoch):
        fields = JOINS[kind] if epoch == 0 else {}
        request = HEARTBEATS[kind](group_id="g", member_id=member, member_epoch=epoch, **fields)
        return self._bench.call(request, 0 if kind == "streams" else 1)

    def describe(self, kind):
        return self._bench.call(DESCRIBE[kind](group_ids=["g"]), 0 if kind == "streams" else 1).groups[0]

    def run(self, ms):
        self._bench.run(ms)


def error(response):
    return response.error_code, response.error_message


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_join_creates_a_group(kind):
    groups = Groups()
    assert error(groups.heartbeat(kind, "m", 3)) == (69, f"{kind.capitalize()} group g not found.")
    assert error(groups.describe(kind)) == (69, "Group g not found.")
    assert groups.heartbeat(kind, "m", 0).error_code == 0
    groups.run(100)
    assert [member.member_id for member in groups.describe(kind).members] == ["m"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_another_type_is_refused(kind):
    groups = Groups()
    assert groups.heartbeat("streams" if kind == "share" else "share", "m", 0).error_code == 0
    groups.run(100)
    for refused in (groups.heartbeat(kind, "m", 0), groups.heartbeat(kind, "m", 3), groups.describe(kind)):
        assert error(refused) == (69, f"Group g is not a {kind} group.")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_group_refuses_another_member(kind):
    groups = Groups(**{f"group_{kind}_max_size": "1"})
    assert groups.heartbeat(kind, "m", 0).error_code == 0
    refusal = (81, f"The {kind} group has reached its maximum capacity of 1 members.")
    assert error(groups.heartbeat(kind, "n", 0)) == refusal


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_without_heartbeats_expires(kind):
    groups = Groups()
    groups.heartbeat(kind, "m", 0)
    groups.run(44_000)
    assert len(groups.describe(kind).members) == 1
    groups.run(2_000)
    assert groups.describe(kind).members == []
