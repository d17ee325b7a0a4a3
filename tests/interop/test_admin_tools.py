"""kafka-topics, -configs, -get-offsets and their like, of each release, on our brokers of that release."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_spec import TopicSpec
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

TOPICS = ("written", "moved", "elected", "seen")


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    topics = [TopicSpec(name=name, partitions=2, replication_factor=2) for name in TOPICS]
    with ThreadedCluster(brokers=3, release=request.param, topics=topics) as cluster:
        yield Tools(request.param, cluster.bootstrap_servers)


def as_file(folder: Path, content: object) -> str:
    path = folder / "input.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_topics_are_made_described_widened_and_deleted(tools: Tools) -> None:
    size = ("--partitions", "3", "--replication-factor", "3")
    made = tools.run("TopicCommand", "--create", "--topic", "orders", *size, "--config", "retention.ms=60000")
    assert "Created topic orders." in made
    refused = tools.run("TopicCommand", "--create", "--topic", "orders", *size, status=1)
    assert "Topic 'orders' already exists." in refused
    tools.run("TopicCommand", "--alter", "--topic", "orders", "--partitions", "4")
    head, *partitions = tools.run("TopicCommand", "--describe", "--topic", "orders").splitlines()
    assert "PartitionCount: 4\tReplicationFactor: 3" in head
    assert "retention.ms=60000" in head
    for line in partitions:
        found = re.search(r"Leader: (\d)\tReplicas: (\S+)\tIsr: (\S+)", line)
        assert found is not None
        leader, replicas, isr = found.groups()
        assert (replicas.split(",")[0], isr) == (leader, replicas)
    tools.run("TopicCommand", "--delete", "--topic", "orders")
    assert sorted(tools.run("TopicCommand", "--list").split()) == sorted(TOPICS)


def test_configurations_of_every_kind_are_set_and_shown(tools: Tools) -> None:
    def configs(kind: str, name: str | None, *verb: str) -> str:
        entity = ("--entity-default",) if name is None else ("--entity-name", name)
        return tools.run("ConfigCommand", *verb, "--entity-type", kind, *entity)

    for kind, name, setting in (
        ("topics", "seen", "max.message.bytes=2000"),
        ("brokers", "1", "log.cleaner.threads=2"),
        ("brokers", None, "num.io.threads=12"),
        ("clients", "app", "producer_byte_rate=1000000"),
    ):
        key = setting.partition("=")[0]
        assert "Completed updating" in configs(kind, name, "--alter", "--add-config", setting)
        assert setting in configs(kind, name, "--describe")
        configs(kind, name, "--alter", "--delete-config", key)
        assert setting not in configs(kind, name, "--describe")


def test_passwords_of_users_are_set_and_deleted(tools: Tools) -> None:
    def users(*verb: str, status: int = 0) -> str:
        return tools.run("ConfigCommand", *verb, "--entity-type", "users", "--entity-name", "ann", status=status)

    users("--alter", "--add-config", "SCRAM-SHA-256=[password=a],SCRAM-SHA-512=[password=a]", status=1)
    users("--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=secret]")
    assert "SCRAM credential configs for user-principal 'ann' are SCRAM-SHA-256=iterations=8192" in users("--describe")
    users("--alter", "--delete-config", "SCRAM-SHA-256")
    assert users("--describe").strip() == ""


def test_an_unknown_configuration_is_refused(tools: Tools) -> None:
    setting = ("--entity-type", "topics", "--entity-name", "seen", "--add-config", "max.message.byte=1")
    tools.run("ConfigCommand", "--alter", *setting, status=1)


def test_records_are_written_measured_counted_and_deleted(tools: Tools, tmp_path: Path) -> None:
    load = ("--topic", "written", "--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    output = tools.run_bare(
        "ProducerPerformance", *load, "--producer-props", f"bootstrap.servers={tools.bootstrap_servers}", "acks=all"
    )
    assert "2000 records sent" in output
    tools.run("ConsoleProducer", "--topic", "written", stdin="one\ntwo\nthree\n")

    def offsets(*time: str) -> dict[str, int]:
        lines = tools.run("GetOffsetShell", "--topic", "written", *time).split()
        return {line.rpartition(":")[0]: int(line.rpartition(":")[2]) for line in lines}

    ends = offsets()
    assert sum(ends.values()) == 2003
    assert set(offsets("--time", "max-timestamp").values()) <= set(range(2003))
    emptied = {"topic": "written", "partition": 0, "offset": ends["written:0"]}
    deleted = tools.run(
        "DeleteRecordsCommand", "--offset-json-file", as_file(tmp_path, {"version": 1, "partitions": [emptied]})
    )
    assert f"partition: written-0\tlow_watermark: {ends['written:0']}" in deleted
    assert offsets("--time", "earliest") == {"written:0": ends["written:0"], "written:1": 0}


def test_leaders_are_elected(tools: Tools) -> None:
    assert "Valid replica already elected" in tools.run(
        "LeaderElectionCommand", "--election-type", "preferred", "--topic", "elected", "--partition", "0"
    )
    tools.run("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")


def test_replicas_are_moved_under_a_throttle(tools: Tools, tmp_path: Path) -> None:
    plan = {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [3, 1]}]}
    moves = ("--reassignment-json-file", as_file(tmp_path, plan))
    reassign = "reassign.ReassignPartitionsCommand"
    begun = tools.run(reassign, *moves, "--execute", "--throttle", "1000000")
    assert "The inter-broker throttle limit was set to 1000000 B/s" in begun
    assert "Successfully started partition reassignment for moved-0" in begun
    # A pending move is printed, with the same exit status; the tool's run time is the wait.
    for _ in range(10):
        verified = tools.run(reassign, *moves, "--verify")
        if "is completed" in verified:
            break
    assert "Reassignment of partition moved-0 is completed." in verified
    assert "Clearing topic-level throttles on topic moved" in verified
    assert "No partition reassignments found." in tools.run(reassign, "--list")
    described = tools.run("TopicCommand", "--describe", "--topic", "moved")
    assert re.search(r"Partition: 0\tLeader: \d\tReplicas: 3,1\t", described)
    topics = as_file(tmp_path, {"version": 1, "topics": [{"topic": "moved"}]})
    proposed = tools.run(reassign, "--topics-to-move-json-file", topics, "--broker-list", "1,2", "--generate")
    assert "Proposed partition reassignment configuration" in proposed


def test_versions_and_directories_are_shown(tools: Tools) -> None:
    versions = tools.run("BrokerApiVersionsCommand")
    newest = {"3.7.2": "Produce(0): 0 to 10 [usable: 10]", "4.3.1": "Produce(0): 0 to 13 [usable: 13]"}
    assert versions.count(newest[tools.release]) == 3
    output = tools.run("LogDirsCommand", "--describe", "--topic-list", "seen")
    directories = json.loads(output[output.index("{") :])
    held = [
        replica["partition"]
        for broker in directories["brokers"]
        for directory in broker["logDirs"]
        for replica in directory["partitions"]
    ]
    assert sorted(held) == ["seen-0", "seen-0", "seen-1", "seen-1"]


@pytest.mark.parametrize("release", RELEASES)
def test_rights_are_given_and_listed(release: str) -> None:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with ThreadedCluster(brokers=1, release=release, config=config) as cluster:
        tools = Tools(release, cluster.bootstrap_servers)
        tools.run("AclCommand", "--add", "--allow-principal", "User:ann", "--producer", "--topic", "orders")
        listed = tools.run("AclCommand", "--list", "--topic", "orders", "--resource-pattern-type", "match")
    assert "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)" in listed
    for operation in ("CREATE", "DESCRIBE", "WRITE"):
        assert f"(principal=User:ann, host=*, operation={operation}, permissionType=ALLOW)" in listed
