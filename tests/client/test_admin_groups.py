"""The group calls of Admin on clusters of several releases, over sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from broker_client import Admin, Consumer, OffsetAndMetadata, TopicPartition
from broker_client.admin import GroupState, GroupType, ItemsFailed
from broker_client.errors import UnsupportedVersion
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASES: Final = ("0.10.2", "2.3", "3.7", "4.3.1")
KEYS: Final = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
AT: Final = OffsetAndMetadata(offset=7, metadata="here")


class Served:
    """A cluster of one release, and its admin client."""

    def __init__(self, release: str) -> None:
        self.number = tuple(map(int, release.split(".")))
        self.cluster = ThreadedCluster(release=release, brokers=2, topics=["orders:2:1"], quick_groups=True)
        self.admin = Admin(bootstrap_servers=self.cluster.bootstrap_servers)

    def member(self, group_id: str, **options: str) -> Consumer:
        """Return a consumer that has joined a group."""
        servers = self.cluster.bootstrap_servers
        consumer = Consumer(bootstrap_servers=servers, group_id=group_id, heartbeat_interval_ms=100, **options)
        consumer.subscribe(["orders"])
        while len(consumer.assignment()) < len(KEYS):
            consumer.poll(0.05)
        return consumer

    def close(self) -> None:
        self.admin.close()
        self.cluster.close()


@pytest.fixture(scope="module", params=RELEASES)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    made = Served(request.param)
    yield made
    made.close()


def test_offsets_of_a_group_without_members_are_set_listed_and_deleted(served: Served) -> None:
    admin = served.admin
    admin.alter_group_offsets("simple", {KEYS[0]: AT})
    assert admin.list_group_offsets(["simple", "absent"]) == {"simple": {KEYS[0]: AT}, "absent": {}}
    assert admin.list_group_offsets({"simple": KEYS}) == {"simple": {KEYS[0]: AT, KEYS[1]: None}}
    with pytest.raises(ItemsFailed, match="nowhere-0: UNKNOWN_TOPIC_OR_PARTITION") as failed:
        admin.alter_group_offsets("simple", {TopicPartition("nowhere", 0): AT, KEYS[1]: AT})
    assert list(failed.value.done) == [KEYS[1]]
    if served.number >= (2, 4):
        admin.delete_group_offsets("simple", [KEYS[1]])
        assert list(admin.list_group_offsets(["simple"])["simple"]) == [KEYS[0]]
    else:
        with pytest.raises(UnsupportedVersion, match="the node does not support OffsetDelete"):
            admin.delete_group_offsets("simple", [KEYS[1]])
    if served.number >= (1, 1):
        with pytest.raises(ItemsFailed, match="1 of 2 failed: absent: GROUP_ID_NOT_FOUND"):
            admin.delete_groups(["simple", "absent"])
        assert admin.list_group_offsets(["simple"]) == {"simple": {}}
    else:
        with pytest.raises(UnsupportedVersion, match="the node does not support DeleteGroups"):
            admin.delete_groups(["simple"])


def test_groups_of_consumers_are_listed_and_described_and_their_members_removed(served: Served) -> None:
    admin = served.admin
    with served.member("billing", client_id="shop") as consumer:
        described = admin.describe_consumer_groups(["billing"])["billing"]
        (member,) = described.members
        assert (described.type, described.state) == (GroupType.CLASSIC, GroupState.STABLE)
        assert (described.partition_assignor, member.client_id, member.assignment) == ("range", "shop", tuple(KEYS))
        assert described.coordinator is not None
        assert admin.describe_groups(["billing"])["billing"].members == (member,)
        listed = admin.list_groups(protocol_types=["consumer"])["billing"]
        assert listed.state is (GroupState.STABLE if served.number >= (2, 6) else None)
        assert listed.type is (GroupType.CLASSIC if served.number >= (3, 8) else None)
        assert admin.remove_group_members("billing") == [member.member_id]
        assert admin.describe_groups(["billing"])["billing"].members == ()
        while not consumer.assignment() or not admin.describe_groups(["billing"])["billing"].members:
            consumer.poll(0.05)  # the member that was removed joins again
    if served.number < (2, 4):
        with pytest.raises(UnsupportedVersion, match=r"removed by group\.instance\.id from LeaveGroup v3"):
            admin.remove_group_members("billing", ["till-1"])
        return
    with served.member("static", group_instance_id="till-1"):
        with pytest.raises(ItemsFailed, match="1 of 2 failed: till-2: UNKNOWN_MEMBER_ID") as failed:
            admin.remove_group_members("static", ["till-1", "till-2"])
        assert list(failed.value.done) == ["till-1"]


def test_a_group_that_does_not_exist_is_dead_or_not_found(served: Served) -> None:
    if served.number < (4, 0):
        assert served.admin.describe_consumer_groups(["absent"])["absent"].state is GroupState.DEAD
        return
    with pytest.raises(ItemsFailed, match="absent: GROUP_ID_NOT_FOUND: Group absent not found") as failed:
        served.admin.describe_consumer_groups(["absent"])
    assert failed.value.error_code is ErrorCode.GROUP_ID_NOT_FOUND
