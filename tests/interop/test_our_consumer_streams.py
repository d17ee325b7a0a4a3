"""Our consumer sends the requests of Java's, script by script: on Kafka 4.3.1, and on 3.7.2 with fewer versions."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from broker_client import Admin, Consumer, Producer, TopicPartition
from tests.interop.consumer_scripts import lines_of, run_java, run_ours
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

CLIENT_RELEASE = "4.3.1"
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.replication.factor": "1"}
JAVA = "org.apache.kafka.clients.consumer."
CLASSIC = {
    "subscribe": ({}, ["subscribe TOPIC", "records 10", "commit", "close"]),
    "assign": (
        {"enable.auto.commit": "false"},
        [
            "assign TOPIC-0,TOPIC-1",
            "records 10",
            "commit-offset TOPIC-0 3",
            "committed TOPIC-1",
            "seek TOPIC-0 2",
            "pause TOPIC-1",
            "records 3",
            "resume TOPIC-1",
            "seek-to-end TOPIC-1",
            "position TOPIC-1",
            "close",
        ],
    ),
    "rebalance and return": (
        {"partition.assignment.strategy": f"{JAVA}CooperativeStickyAssignor"},
        [
            "subscribe TOPIC",
            "records 10",
            "rebalance",
            "poll 500",
            "unsubscribe",
            "subscribe TOPIC",
            "owned 2",
            "poll 300",
            "close",
        ],
    ),
    "pattern of a static member": (
        {
            "partition.assignment.strategy": f"{JAVA}StickyAssignor,{JAVA}RoundRobinAssignor",
            "isolation.level": "read_committed",
            "group.instance.id": "i",
        },
        ["pattern TOPIC.*", "records 10", "rebalance", "poll 2000", "close"],
    ),
    "topics, lags and an offset with metadata": (
        {"enable.auto.commit": "false"},
        # Long polls: on a busy machine Java may send nothing within a short one.
        [
            "assign TOPIC-0",
            "lag TOPIC-0",
            "pause TOPIC-0",
            "poll 1000",
            "lag TOPIC-0",
            "poll 1000",
            "lag TOPIC-0",
            "resume TOPIC-0",
            "records 5",
            "partitions TOPIC",
            "partitions TOPIC-none",
            "list",
            "seek-metadata TOPIC-0 2 0",
            "records 3",
            "close",
        ],
    ),
    "topics are not created": (
        {"enable.auto.commit": "false", "allow.auto.create.topics": "false", "isolation.level": "read_committed"},
        ["partitions TOPIC-none", "assign TOPIC-0", "pause TOPIC-0", "poll 1000", "lag TOPIC-0", "poll 1000", "close"],
    ),
    "limits of fetches": (
        {
            "fetch.min.bytes": "10",
            "fetch.max.wait.ms": "300",
            "max.partition.fetch.bytes": "3000",
            "fetch.max.bytes": "5000",
            "max.poll.records": "2",
            "client.rack": "r",
        },
        ["subscribe TOPIC", "records 10", "poll 600", "close"],
    ),
    "a dynamic member remains": ({}, ["subscribe TOPIC", "records 10", "close-remain"]),
    "a static member leaves": ({"group.instance.id": "i"}, ["subscribe TOPIC", "records 10", "close-leave"]),
}
CONSUMER = {
    "subscribe": ({}, ["subscribe TOPIC", "records 10", "commit", "poll 300", "close"]),
    "return with a rack": (
        {"client.rack": "r", "group.remote.assignor": "range"},
        # Polls after the records, because on a busy machine Java may not yet have sent the next Fetch.
        [
            "subscribe TOPIC",
            "records 10",
            "poll 200",
            "unsubscribe",
            "subscribe TOPIC",
            "owned 2",
            "poll 800",
            "close",
        ],
    ),
    "static member": (
        {"group.instance.id": "i", "enable.auto.commit": "false"},
        ["subscribe TOPIC", "records 10", "commit-offset TOPIC-1 2", "committed TOPIC-1", "close"],
    ),
    "a dynamic member remains": ({}, ["subscribe TOPIC", "records 10", "close-remain"]),
    "a static member leaves": ({"group.instance.id": "i"}, ["subscribe TOPIC", "records 10", "close-leave"]),
}


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param, settings=SETTINGS) as cluster:
        with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="first") as consumer:
            consumer.committed([TopicPartition("none", 0)])  # creates the topic of the coordinators
        yield cluster


def compare(kafka: RealKafka, config: dict[str, str], steps: list[str]) -> None:
    streams = []
    for is_java in (True, False):
        topic = f"topic-{uuid.uuid4().hex[:8]}"
        with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
            admin.create_topic(topic, partitions=2, replication_factor=1)
        with Producer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            for number in range(10):
                producer.send(topic, b"%d" % number, partition=number % 2)
        given = {"group.id": f"group-of-{topic}", "auto.offset.reset": "earliest", **config}
        script = [step.replace("TOPIC", topic) for step in steps]
        if is_java:
            requests = run_java(CLIENT_RELEASE, kafka.bootstrap_servers, given, script)
        else:
            requests = run_ours(kafka.bootstrap_servers, given, script)
        streams.append(lines_of(requests, {topic: "TOPIC"}))
    java, ours = streams
    assert ours == java


@pytest.mark.parametrize("name", CLASSIC)
def test_the_requests_of_the_classic_protocol_are_those_of_java(kafka: RealKafka, name: str) -> None:
    compare(kafka, *CLASSIC[name])


@pytest.mark.parametrize("name", CONSUMER)
def test_the_requests_of_the_consumer_protocol_are_those_of_java(kafka: RealKafka, name: str) -> None:
    if kafka.release < "4":
        return  # it has only a preview of the protocol, switched off
    config, steps = CONSUMER[name]
    compare(kafka, {"group.protocol": "consumer", **config}, steps)
