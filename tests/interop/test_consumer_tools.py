"""Kafka's own consuming programs on our groups: kafka-verifiable-consumer, -perf-test, -e2e-latency and their like."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from broker_client import Admin, TopicPartition
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS = 2
RECORDS = 400
IN_4 = RELEASES[-1:]
PERCENTILES = re.compile(r"Percentiles: 50th = \d+, 99th = \d+, 99.9th = \d+")


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    topics = [f"orders:{PARTITIONS}:1", "latency:1:1"]
    with ThreadedCluster(brokers=1, topics=topics, release=request.param, quick_groups=True) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce("orders", b"%d" % number, partition=number % PARTITIONS)
        assert producer.flush(60) == 0
        yield Tools(request.param, cluster.bootstrap_servers)


def events_of(output: str) -> dict[str, list[dict[str, Any]]]:
    """Return the events that a verifiable program has printed, by name."""
    events: dict[str, list[dict[str, Any]]] = {}
    for line in output.splitlines():
        event = json.loads(line)
        events.setdefault(event["name"], []).append(event)
    return events


def is_new(tools: Tools) -> bool:
    return tools.release in IN_4


def committed(tools: Tools, group_id: str) -> dict[TopicPartition, int]:
    with Admin(bootstrap_servers=tools.bootstrap_servers) as admin:
        offsets = admin.list_group_offsets([group_id])[group_id]
    return {key: found.offset for key, found in offsets.items() if found is not None}


ENDS = {TopicPartition("orders", index): RECORDS // PARTITIONS for index in range(PARTITIONS)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_verifiable_consumer_reads_and_commits_each_record(tools: Tools, protocol: str) -> None:
    chosen = ("--group-protocol", protocol) if is_new(tools) else ()
    given = ("--topic", "orders", "--group-id", f"verifiable-{protocol}", "--max-messages", str(RECORDS))
    events = events_of(tools.run("VerifiableConsumer", *given, *chosen, "--reset-policy", "earliest"))
    assert sum(event["count"] for event in events["records_consumed"]) == RECORDS
    assert all(event["success"] for event in events["offsets_committed"])
    [assigned, *_] = events["partitions_assigned"]
    assert sorted(each["partition"] for each in assigned["partitions"]) == list(range(PARTITIONS))
    assert committed(tools, f"verifiable-{protocol}") == ENDS


def test_the_performance_test_counts_each_record(tools: Tools) -> None:
    count = ("--num-records" if is_new(tools) else "--messages", str(RECORDS))
    header, figures = tools.run("ConsumerPerformance", "--topic", "orders", "--group", "perf", *count).splitlines()[:2]
    row = dict(zip(header.split(", "), figures.split(", "), strict=True))
    assert int(row["data.consumed.in.nMsg"]) == RECORDS


def test_the_latency_from_end_to_end_is_measured(tools: Tools) -> None:
    servers = tools.bootstrap_servers
    if is_new(tools):
        given = ("--topic", "latency", "--num-records", "20", "--producer-acks", "all", "--record-size", "100")
        output = tools.run("EndToEndLatency", *given)
    else:
        output = tools.run_bare("EndToEndLatency", servers, "latency", "20", "all", "100")
    assert PERCENTILES.search(output)


@pytest.mark.parametrize("tools", IN_4, indirect=True)
def test_share_consumers_acknowledge_each_record(tools: Tools) -> None:
    given = ("--topic", "orders", "--group-id", "shared", "--max-messages", str(RECORDS))
    events = events_of(tools.run("VerifiableShareConsumer", *given, "--offset-reset-strategy", "earliest"))
    assert sum(event["count"] for event in events["records_consumed"]) == RECORDS
    acknowledged = [
        (part["partition"], offset)
        for event in events["offsets_acknowledged"]
        for part in event["partitions"]
        for offset in part["offsets"]
    ]
    assert sorted(acknowledged) == [(part, at) for part in range(PARTITIONS) for at in range(RECORDS // PARTITIONS)]


@pytest.mark.parametrize("tools", IN_4, indirect=True)
def test_the_performance_test_of_share_consumers_counts_each_record(tools: Tools) -> None:
    group = ("--entity-type", "groups", "--entity-name", "shared-perf")
    tools.run("ConfigCommand", "--alter", *group, "--add-config", "share.auto.offset.reset=earliest")
    given = ("--topic", "orders", "--group", "shared-perf", "--num-records", str(RECORDS), "--timeout", "20000")
    header, figures = tools.run("ShareConsumerPerformance", *given).splitlines()[:2]
    row = dict(zip(header.split(", "), figures.split(", "), strict=False))
    assert int(row["data.consumed.in.nMsg"]) == RECORDS
