"""`__consumer_offsets`: Kafka's own formatters and DumpLogSegments read the records of our coordinators."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools
from tests.interop.prepared_release import java_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC = "__consumer_offsets"
TOOL_SECONDS_MAX = 60
OFFSETS = {
    "3.7.2": "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
    "4.3.1": "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
}
GROUPS = {
    "3.7.2": "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter",
    "4.3.1": "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
}


class Used(NamedTuple):
    """A cluster on disk whose groups have been used."""

    cluster: ThreadedCluster
    release: str
    folder: Path


@pytest.fixture(scope="module", params=RELEASES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    folder = tmp_path_factory.mktemp("data")
    with ThreadedCluster(
        brokers=1,
        topics=["orders:2:1"],
        release=request.param,
        config={"offsets.topic.num.partitions": 1},
        data_dir=str(folder),
        quick_groups=True,
    ) as cluster:
        use_a_group(cluster.bootstrap_servers)
        yield Used(cluster, request.param, folder)


def use_a_group(bootstrap_servers: str) -> None:
    """A member reads and commits; another client commits with metadata, without being a member."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    producer.produce("orders", b"value", partition=0)
    assert producer.flush(60) == 0
    settings = {"bootstrap.servers": bootstrap_servers, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    member = Consumer({**settings, "group.id": "members"})
    member.subscribe(["orders"])
    message = member.poll(60)
    assert message is not None
    member.commit(message, asynchronous=False)
    member.close()
    simple = Consumer({**settings, "group.id": "simple"})
    simple.commit(offsets=[TopicPartition("orders", 1, 42, metadata="about it")], asynchronous=False)
    simple.close()


def formatted(used: Used, formatter: str) -> str:
    name = "ConsoleConsumer" if used.release.startswith("3.") else "consumer.ConsoleConsumer"
    count = str(len(used.cluster.records(TOPIC)))
    which = ("--topic", TOPIC, "--partition", "0", "--from-beginning", "--max-messages", count)
    return Tools(used.release, used.cluster.bootstrap_servers).run(name, *which, "--formatter", formatter)


def test_the_formatter_of_offsets_reads_each_commit(used: Used) -> None:
    shown = formatted(used, OFFSETS[used.release])
    assert "members" in shown
    assert "about it" in shown
    assert "42" in shown


def test_the_formatter_of_groups_reads_each_generation(used: Used) -> None:
    shown = formatted(used, GROUPS[used.release])
    assert "members" in shown
    assert "range" in shown


def test_kafka_dump_log_decodes_the_segment(used: Used) -> None:
    [segment] = used.folder.rglob(f"{TOPIC}-0/*.log")
    tool = "kafka.tools.DumpLogSegments" if used.release.startswith("3.") else "org.apache.kafka.tools.DumpLogSegments"
    command = [*java_command(used.release), tool, "--offsets-decoder", "--files", str(segment)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "about it" in done.stdout
    assert "members" in done.stdout


def test_kafka_consumer_groups_shows_resets_and_deletes_offsets(used: Used) -> None:
    name = "ConsumerGroupCommand" if used.release.startswith("3.") else "consumer.group.ConsumerGroupCommand"
    tools = Tools(used.release, used.cluster.bootstrap_servers)
    described = tools.run(name, "--describe", "--group", "members")
    assert re.search(r"members\s+orders\s+0\s+1\s+1\s+0", described), described
    reset = tools.run(
        name, "--reset-offsets", "--group", "members", "--topic", "orders:0", "--to-earliest", "--execute"
    )
    assert re.search(r"members\s+orders\s+0\s+0", reset), reset
    assert re.search(r"members\s+orders\s+0\s+0\s+1\s+1", tools.run(name, "--describe", "--group", "members"))
    deleted = tools.run(name, "--delete-offsets", "--group", "members", "--topic", "orders:0")
    assert re.search(r"orders\s+0\s+Successful", deleted), deleted
