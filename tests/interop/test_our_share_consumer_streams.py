"""Our share consumer sends the requests of Java's on Kafka 4.3.1, script by script.

One partition: the first fetch of several returns the records of those that the broker has initialized by then.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from broker_client import (
    Admin,
    AlterConfigOp,
    ConfigOperation,
    ConfigResource,
    Consumer,
    Producer,
    TopicPartition,
)
from tests.interop.consumer_scripts import lines_of, run_java, run_script
from tests.interop.real_kafka import real_kafka
from tests.interop.share_consumer_scripts import PROGRAM, STEPS, ScriptedShareConsumer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

RELEASE = "4.3.1"
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
}
EXPLICIT = {"share.acknowledgement.mode": "explicit"}
SCRIPTS = {
    "implicit": ({}, ["subscribe TOPIC", "records 10", "poll 700", "close"]),
    "commits": (
        EXPLICIT,
        [
            "subscribe TOPIC",
            "delivered 10",
            "acknowledge accept 0 3",
            "acknowledge release 4 5",
            "acknowledge reject 6 9",
            "commit",
            "delivered 2",
            "acknowledge accept 4 5",
            "commit-async",
            "poll 700",
            "close",
        ],
    ),
    "renew": (
        {**EXPLICIT, "client.rack": "r"},
        [
            "subscribe TOPIC",
            "delivered 10",
            "acknowledge accept 5 9",
            "acknowledge renew 0 4",
            "delivered 5",
            "acknowledge accept 0 4",
            "close",
        ],
    ),
    "record limit": (
        {**EXPLICIT, "share.acquire.mode": "record_limit", "max.poll.records": "4"},
        [
            "subscribe TOPIC",
            "delivered 4",
            "acknowledge accept 0 3",
            "delivered 4",
            "acknowledge reject 4 7",
            "delivered 2",
            "acknowledge release 8 9",
            "close",
        ],
    ),
    "return": (
        {},
        ["subscribe TOPIC", "delivered 10", "commit", "unsubscribe", "subscribe TOPIC", "poll 2000", "close"],
    ),
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with real_kafka(RELEASE, settings=SETTINGS) as cluster:
        with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="first") as consumer:
            consumer.committed([TopicPartition("none", 0)])  # creates the topic of the coordinators
        yield cluster


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_requests_are_those_of_java(kafka: RealKafka, name: str) -> None:
    config, steps = SCRIPTS[name]
    streams = []
    for is_java in (True, False):
        topic = f"topic-{uuid.uuid4().hex[:8]}"
        group = f"group-of-{topic}"
        with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
            admin.create_topic(topic, partitions=1, replication_factor=1)
            change = AlterConfigOp(name="share.auto.offset.reset", value="earliest", operation=ConfigOperation.SET)
            admin.incremental_alter_configs({ConfigResource.group(group): [change]})
        with Producer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=1_000) as producer:
            for number in range(10):
                producer.send(topic, b"%d" % number)
        given = {"group.id": group, **config}
        script = [step.replace("TOPIC", topic) for step in steps]
        if is_java:
            requests = run_java(RELEASE, kafka.bootstrap_servers, given, script, program=PROGRAM)
        else:
            requests = run_script(kafka.bootstrap_servers, given, script, ScriptedShareConsumer, STEPS)
        streams.append(lines_of(requests, {topic: "TOPIC"}))
    java, ours = streams
    assert ours == java
