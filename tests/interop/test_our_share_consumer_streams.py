"""Our share consumer sends the requests of Java's on Kafka 4.3.1, script by script.

One partition: the first fetch of several returns the records of those that the broker has initialized by then. For the
same reason another member has read record 0 before a script begins: the broker initializes a share partition for its
first member, and how many empty fetches that takes is a matter of time.
"""

from __future__ import annotations

import re
import uuid
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from broker_client import (
    Admin,
    AlterConfigOp,
    ConfigOperation,
    ConfigResource,
    Consumer,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from tests.differential.probe import attempts
from tests.interop.consumer_scripts import STEP_SECONDS_MAX, lines_of, run_java, run_script
from tests.interop.real_kafka import real_kafka
from tests.interop.share_consumer_scripts import PROGRAM, STEPS, ScriptedShareConsumer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.interop.real_kafka import RealKafka

RELEASE = "4.3.1"
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    # An assignment that waits for the end of an interval takes a heartbeat more, if the member comes early enough.
    "group.share.min.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
}
TEXTS = [b"%d" % number for number in range(10)]
NUMBERS = [b"poison" if number in (4, 7) else number.to_bytes(4) for number in range(1, 11)]
"""Values at the offsets 1 to 10."""
AS_NUMBERS = {"value.deserializer": "org.apache.kafka.common.serialization.IntegerDeserializer"}
EXPLICIT = {"share.acknowledgement.mode": "explicit"}
SCRIPTS = {
    "implicit": ({}, ["subscribe TOPIC", "records 10", "poll 1500", "close"]),
    "commits": (
        EXPLICIT,
        [
            "subscribe TOPIC",
            "delivered 10",
            "acknowledge accept 1 4",
            "acknowledge release 5 6",
            "acknowledge reject 7 10",
            "commit",
            "delivered 2",
            "acknowledge accept 5 6",
            "commit-async",
            "poll 1500",
            "close",
        ],
    ),
    "renew": (
        {**EXPLICIT, "client.rack": "r"},
        [
            "subscribe TOPIC",
            "delivered 10",
            "acknowledge accept 6 10",
            "acknowledge renew 1 5",
            "delivered 5",
            "acknowledge accept 1 5",
            "close",
        ],
    ),
    "record limit": (
        {**EXPLICIT, "share.acquire.mode": "record_limit", "max.poll.records": "4"},
        [
            "subscribe TOPIC",
            "delivered 4",
            "acknowledge accept 1 4",
            "delivered 4",
            "acknowledge reject 5 8",
            "delivered 2",
            "acknowledge release 9 10",
            "close",
        ],
    ),
    "return": (
        {"share.acquire.mode": "record_limit", "max.poll.records": "4"},
        # The second delivery shows that the member has its assignment again: a time would not.
        [
            "subscribe TOPIC",
            "delivered 4",
            "commit",
            "unsubscribe",
            "subscribe TOPIC",
            "delivered 4",
            "commit",
            "close",
        ],
    ),
    "deserializers": (
        AS_NUMBERS,
        ["subscribe TOPIC", "delivered 3", "fails 4", "delivered 2", "fails 7", "delivered 3", "fails 4", "close"],
    ),
    "explicit deserializers": (
        {**AS_NUMBERS, **EXPLICIT},
        [
            "subscribe TOPIC",
            "delivered 3",
            "acknowledge accept 1 3",
            "commit",
            "fails 4",
            "acknowledge-failed reject",
            "delivered 2",
            "acknowledge accept 5 6",
            "fails 7",
            "acknowledge-failed accept",
            "commit",
            "delivered 3",
            "acknowledge release 8 10",
            "close",
        ],
    ),
}

NOT_COMMITTED = "deserializers"
"""Java's other thread sends its acknowledgements: those that come before its next turn go with one request."""
BATCHES = re.compile(r"(?<=acknowledgement_batches=\[)\(.*acknowledge_types=\[\d\]\)(?=\])")


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with real_kafka(RELEASE, settings=SETTINGS) as cluster:
        with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id="first") as consumer:
            consumer.committed([TopicPartition("none", 0)])  # creates the topic of the coordinators
        yield cluster


def _send(kafka: RealKafka, topic: str, values: Iterable[bytes]) -> None:
    """Write records in one batch."""
    with Producer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=1_000) as producer:
        for value in values:
            producer.send(topic, value)


def _read_one(kafka: RealKafka, topic: str, group: str) -> None:
    """Have a member that leaves again read one record: then the share partition is initialized."""
    with ShareConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id=group) as consumer:
        consumer.subscribe([topic])
        for _ in attempts("the first record", seconds=STEP_SECONDS_MAX):
            if consumer.poll(0.1):
                break
        assert list(consumer.commit_sync().values()) == [None]


def _joined(lines: list[str]) -> list[str]:
    """Join requests that follow each other and differ in their acknowledgements alone."""
    joined: list[str] = []
    for rest, group in groupby(lines, key=lambda line: BATCHES.sub("", line)):
        batches = [found for line in group for found in BATCHES.findall(line)]
        joined.append(rest.replace("acknowledgement_batches=[", f"acknowledgement_batches=[{', '.join(batches)}"))
    return joined


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
        _send(kafka, topic, [b"0"])
        _read_one(kafka, topic, group)
        _send(kafka, topic, NUMBERS if "value.deserializer" in config else TEXTS)
        given = {"group.id": group, **config}
        script = [step.replace("TOPIC", topic) for step in steps]
        if is_java:
            requests = run_java(RELEASE, kafka.bootstrap_servers, given, script, program=PROGRAM)
        else:
            requests = run_script(kafka.bootstrap_servers, given, script, ScriptedShareConsumer, STEPS)
        streams.append(lines_of(requests, {topic: "TOPIC"}))
    if name == NOT_COMMITTED:
        for stream in streams:
            stream["ShareAcknowledge"] = _joined(stream["ShareAcknowledge"])
    java, ours = streams
    assert ours == java
