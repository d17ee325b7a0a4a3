"""The group calls of our Admin on real Kafka and on our cluster of its release: equal calls, equal results."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_client import Admin, Consumer, OffsetAndMetadata, TopicPartition
from broker_client.admin import GroupState, GroupType
from broker_client.errors import ProducerError
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka
from tests.interop.test_our_admin import OneBroker, normalised, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BROKERS: Final = 2
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
}
SHARE_SETTINGS: Final = {
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
NEWEST: Final = RELEASES[-1]
DEADLINE_S: Final = 30
KEYS: Final = [TopicPartition("orders", number) for number in range(2)]
NOWHERE: Final = TopicPartition("nowhere", 0)
AT: Final = OffsetAndMetadata(offset=1, metadata="here")
RANDOM_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Both:
    """Kafka and our cluster of its release, an admin on each."""

    def __init__(self, release: str, kafka: str, ours: str) -> None:
        self.is_newest = release == NEWEST
        self.servers = (kafka, ours)
        self.admins = [Admin(bootstrap_servers=servers) for servers in self.servers]
        for admin in self.admins:
            admin.create_topic("orders", partitions=len(KEYS), replication_factor=1)
        for servers in self.servers:
            for number in range(BROKERS):
                await_topic(OneBroker(servers, number + 1), "orders")

    def call(self, call: Callable[[Admin], Any]) -> Any:
        """Return the result that both give; errors are results too."""
        kafka, ours = (self.comparable(normalised(_outcome(call, admin))) for admin in self.admins)
        assert ours == kafka
        return kafka

    def comparable(self, value: Any) -> Any:
        """Return a normalised result without what differs between the clusters."""
        return without_random_ids(value)

    def members(self, group_id: str, **options: Any) -> list[Consumer]:
        """Return a member of the group on each cluster, with an assignment."""
        consumers = [Consumer(bootstrap_servers=servers, group_id=group_id, **options) for servers in self.servers]
        deadline_s = time.monotonic() + DEADLINE_S
        for consumer in consumers:
            consumer.subscribe(["orders"])
            while len(consumer.assignment()) < len(KEYS):
                assert time.monotonic() < deadline_s
                consumer.poll(0.05)
        return consumers

    def close(self) -> None:
        for admin in self.admins:
            admin.close()


def await_topic(broker: OneBroker, name: str) -> None:
    """Wait until a broker has the topic: a coordinator refuses offsets of others."""
    until(lambda: broker.reports(lambda admin: admin.describe_topics([name]), lambda found: name in found), bool)
    broker.close()


def _outcome(call: Callable[[Admin], Any], admin: Admin) -> Any:
    try:
        return call(admin)
    except ProducerError as error:
        return error


def without_random_ids(value: Any) -> Any:
    """Without the random part of member ids; which broker coordinates a group differs."""
    if isinstance(value, dict):
        cleaned = {name: without_random_ids(one) for name, one in value.items() if name != "coordinator"}
        if cleaned.get("upgraded") is not None:
            cleaned["member_id"] = "random"
        return cleaned
    if isinstance(value, (list, tuple)):
        return [without_random_ids(one) for one in value]
    return RANDOM_ID.sub("ID", value) if isinstance(value, str) else value


@pytest.fixture(scope="module", params=RELEASES)
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    settings = SETTINGS | (SHARE_SETTINGS if request.param == NEWEST else {})
    with (
        real_kafka(request.param, brokers=BROKERS, settings=settings) as kafka,
        ThreadedCluster(release=request.param, brokers=BROKERS, config=settings) as ours,
    ):
        clients = Both(request.param, kafka.bootstrap_servers, ours.bootstrap_servers)
        yield clients
        clients.close()


def test_offsets_are_altered_listed_and_deleted_alike(both: Both) -> None:
    both.call(lambda admin: admin.alter_group_offsets("simple", {KEYS[0]: AT, KEYS[1]: OffsetAndMetadata(offset=2)}))
    large = OffsetAndMetadata(offset=1, metadata="x" * 5_000)
    refused = both.call(lambda admin: admin.alter_group_offsets("simple", {KEYS[0]: large, NOWHERE: AT}))
    assert len(refused["errors"]) == 2
    both.call(lambda admin: admin.list_group_offsets(["simple", "absent"]))
    listed = both.call(lambda admin: admin.list_group_offsets({"simple": [KEYS[0], NOWHERE]}, require_stable=True))
    assert listed["simple"]["orders-0"]["metadata"] == "here"
    both.call(lambda admin: admin.delete_group_offsets("simple", [KEYS[0], NOWHERE]))
    both.call(lambda admin: admin.delete_group_offsets("absent", KEYS))
    assert list(both.call(lambda admin: admin.list_group_offsets(["simple"]))["simple"]) == ["orders-1"]
    both.call(lambda admin: admin.delete_groups(["simple", "absent"]))
    both.call(lambda admin: admin.list_group_offsets(["simple"]))


def test_classic_groups_are_described_and_their_members_removed_alike(both: Both) -> None:
    both.call(lambda admin: admin.alter_group_offsets("idle", {KEYS[0]: AT}))
    consumers = [
        *both.members("billing", client_id="shop"),
        *both.members("static", client_id="shop", group_instance_id="till-1"),
    ]
    ids = ["billing", "static", "idle", "absent"]
    described = both.call(lambda admin: admin.describe_groups(ids))
    both.call(lambda admin: admin.describe_consumer_groups(ids))
    done = described["done"] if both.is_newest else described
    assert done["static"]["members"][0]["group_instance_id"] == "till-1"
    assert done["billing"]["members"][0]["assignment"] == [["orders", 0], ["orders", 1]]
    both.call(lambda admin: {name: one for name, one in admin.list_groups().items() if name in ids})
    for states in ([GroupState.STABLE], [GroupState.EMPTY, GroupState.DEAD]):
        both.call(lambda admin, states=states: sorted(set(admin.list_groups(states=states)) & {*ids}))  # type: ignore[misc]
    for types in ([GroupType.CLASSIC], [GroupType.CONSUMER], [GroupType.SHARE]):
        both.call(lambda admin, types=types: sorted(set(admin.list_groups(types=types)) & {*ids}))  # type: ignore[misc]
    both.call(lambda admin: admin.alter_group_offsets("billing", {KEYS[0]: AT}))
    both.call(lambda admin: admin.delete_group_offsets("billing", KEYS))
    both.call(lambda admin: admin.delete_groups(["billing", "idle"]))
    both.call(lambda admin: admin.remove_group_members("static", ["till-1", "till-2"], reason="closing time"))
    assert len(both.call(lambda admin: admin.remove_group_members("billing"))) == 1
    both.call(lambda admin: admin.remove_group_members("absent", ["till-1"]))
    both.call(lambda admin: admin.remove_group_members("absent"))
    for consumer in consumers:
        consumer.close(timeout=1)


def test_groups_of_the_consumer_protocol_are_described_alike(both: Both) -> None:
    if not both.is_newest:
        described = both.call(lambda admin: admin.describe_consumer_groups(["absent"]))
        assert (described["absent"]["type"], described["absent"]["state"]) == ("CLASSIC", "DEAD")
        return
    consumers = both.members("modern", client_id="shop", group_protocol="consumer")
    described = both.call(lambda admin: admin.describe_consumer_groups(["modern"]))
    assert described["modern"]["members"][0]["upgraded"] is True
    both.call(lambda admin: admin.describe_groups(["modern"]))
    both.call(lambda admin: admin.list_groups(types=[GroupType.CONSUMER]))
    both.call(lambda admin: admin.delete_groups(["modern"]))
    both.call(lambda admin: admin.delete_group_offsets("modern", KEYS))
    both.call(lambda admin: admin.alter_group_offsets("modern", {KEYS[0]: AT}))
    both.call(lambda admin: len(admin.remove_group_members("modern")))
    both.call(lambda admin: admin.describe_consumer_groups(["modern"]))
    for consumer in consumers:
        consumer.close(timeout=1)


def test_share_and_streams_groups_are_described_alike(both: Both) -> None:
    both.call(lambda admin: admin.alter_group_offsets("committed", {KEYS[0]: AT}))
    both.call(lambda admin: admin.describe_share_groups(["absent", "committed"]))
    both.call(lambda admin: admin.describe_streams_groups(["absent", "committed"]))
    both.call(lambda admin: admin.alter_share_group_offsets("shared", {KEYS[0]: 1, NOWHERE: 1}))
    both.call(lambda admin: admin.list_share_group_offsets({"shared": KEYS, "absent": None}))
    both.call(lambda admin: admin.describe_share_groups(["shared"]))
    both.call(lambda admin: admin.delete_share_group_offsets("shared", ["orders", "nowhere"]))
    both.call(lambda admin: admin.delete_share_group_offsets("absent", ["orders"]))
    both.call(lambda admin: admin.delete_groups(["shared", "committed"]))
