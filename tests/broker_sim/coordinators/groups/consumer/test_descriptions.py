"""ConsumerGroupDescribe: members in the order of Kafka's table, with the partitions that they must revoke."""

from __future__ import annotations

import pytest


def assignments(bench):
    return {
        member.member_id: [(topic.topic_name, topic.partitions) for topic in member.assignment.topic_partitions]
        for member in bench.describe().members
    }


@pytest.mark.parametrize(("release", "shown"), [("4.3.1", [0, 1, 2]), ("4.0.0", [0, 1])])
def test_revocations_are_part_of_the_assignment_of_later_releases(consumers, release, shown):
    bench = consumers(release=release)
    first = bench.join("m1", "a").member_epoch
    bench.wait(1100)
    bench.join("m2", "a")
    bench.heartbeat("m1", first)
    assert assignments(bench) == {"m2": [], "m1": [("a", shown)]}
    assert [member.member_id for member in bench.describe().members] == ["m2", "m1"]


def test_a_member_is_described_with_its_fields(consumers):
    bench = consumers()
    bench.join("m1", "b", "a", instance_id="i", rack_id="r", server_assignor="range")
    group = bench.describe()
    (member,) = group.members
    assert (group.group_state, group.assignor_name) == ("Stable", "range")
    assert (member.instance_id, member.rack_id, member.client_host) == ("i", "r", "/127.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["a", "b"], "")
    assert member.member_type == 1
    assert bench.describe(version=0).members[0].member_type == -1
