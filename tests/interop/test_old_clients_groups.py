"""Java clients from 0.9 to 4.3 as members of a group, each on brokers of its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import clients_folder
from tests.interop.old_clients_jvm import OldClientsJvm, old_clients_jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = ("0.9.0.1", "0.10.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.4.1", "2.8.2", "3.0.2", "3.7.2", "4.3.1")
CLASSIC = "heartbeat.interval.ms=100"
TOPIC = "shared"
PARTITIONS = 4
RECORDS = 40
QUICK_CONSUMER_PROTOCOL = {
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
PHASES = ("shared", "taken over", "continued")


@pytest.fixture(scope="module")
def jvm() -> Iterator[OldClientsJvm]:
    clients_folder(*CLIENTS)
    with old_clients_jvm() as started:
        yield started


@pytest.mark.parametrize(
    ("release", "setting"), [*((release, CLASSIC) for release in CLIENTS), ("4.3.1", "group.protocol=consumer")]
)
def test_members_share_take_over_and_continue_at_what_was_committed(
    jvm: OldClientsJvm, release: str, setting: str
) -> None:
    topics = [f"{TOPIC}:{PARTITIONS}:1"]
    config = {} if setting == CLASSIC else QUICK_CONSUMER_PROTOCOL
    with ThreadedCluster(brokers=1, release=release, topics=topics, config=config, quick_groups=True) as cluster:
        lines = jvm.run(release, "OldGroup", cluster.bootstrap_servers, TOPIC, str(PARTITIONS), "members", setting)
    read = [line.removeprefix("read ") for line in lines]
    assert sorted(read) == sorted(f"{phase} {number}" for phase in PHASES for number in range(RECORDS))
