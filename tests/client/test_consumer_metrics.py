"""Our metrics beside those of the Java consumer 4.3.1: names, tags, descriptions, and what one run measures."""

from __future__ import annotations

import asyncio

import pytest

from broker_client import AsyncConsumer, Consumer, RebalanceListener, ShareConsumer, TopicPartition
from broker_sim.threaded_cluster import ThreadedCluster
from tests.client.core.metrics.consumer_metrics_as_java import (
    CONFIG,
    PROTOCOLS,
    RECORD_COUNT,
    SHARE,
    SHARE_CONFIG,
    comparable,
    recorded,
    write,
)
from tests.client.core.metrics.metrics_as_java import TOPIC, of_ours
from tests.differential.probe import attempts

READ_S = 20


def options(cluster: ThreadedCluster, **others: object) -> dict[str, object]:
    given = {name.replace(".", "_"): value for name, value in CONFIG.items()}
    return {"bootstrap_servers": cluster.bootstrap_servers, **given, **others}


def share_options(cluster: ThreadedCluster) -> dict[str, object]:
    given = {name.replace(".", "_"): value for name, value in SHARE_CONFIG.items()}
    return {"bootstrap_servers": cluster.bootstrap_servers, **given}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_reads_are_measured_as_java_does(protocol: str) -> None:
    with ThreadedCluster(brokers=1, topics=[f"{TOPIC}:2:1"]) as cluster:
        write(cluster.bootstrap_servers)
        with Consumer(**options(cluster, group_protocol=protocol)) as consumer:
            snapshots = [consumer.metrics()]
            consumer.subscribe([TOPIC])
            left = RECORD_COUNT
            for _ in attempts("all records", seconds=READ_S):
                left -= len(consumer.poll(0.1))
                if left == 0:
                    break
            consumer.commit()
            snapshots.append(consumer.metrics())
            consumer.unsubscribe()
            snapshots.append(consumer.metrics())
        assert comparable([of_ours(one) for one in snapshots]) == recorded(protocol)


def test_the_same_reads_of_a_share_group_are_measured_as_java_does() -> None:
    with ThreadedCluster(brokers=1, topics=[f"{TOPIC}:2:1"]) as cluster:
        write(cluster.bootstrap_servers)
        with ShareConsumer(**share_options(cluster)) as consumer:
            snapshots = [consumer.metrics()]
            consumer.subscribe([TOPIC])
            left = RECORD_COUNT
            for _ in attempts("all records", seconds=READ_S):
                left -= len(consumer.poll(0.1))
                if left == 0:
                    break
            consumer.commit_sync()
            snapshots.append(consumer.metrics())
            consumer.unsubscribe()
            snapshots.append(consumer.metrics())
        assert comparable([of_ours(one) for one in snapshots]) == recorded(SHARE)


def test_a_partition_that_is_no_longer_assigned_has_no_metrics_and_a_dotted_topic_has_them_twice() -> None:
    with (
        ThreadedCluster(brokers=1, topics=["a.b:1:1", "c:1:1"]) as cluster,
        Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer,
    ):
        consumer.assign([TopicPartition("a.b", 0), TopicPartition("c", 0)])
        for _ in attempts("the first response", seconds=READ_S):
            consumer.poll(0.05)
            if len(consumer.metrics().find("records-lag", topic="c")) == 1:
                break
        found = {dict(one.metric_name.tags)["topic"] for one in consumer.metrics().find("records-lag")}
        assert found == {"a.b", "a_b", "c"}
        consumer.assign([TopicPartition("c", 0)])
        consumer.poll(0)
        assert len(consumer.metrics().find("records-lag")) == 1


def test_calls_of_the_listener_are_timed() -> None:
    class Listener(RebalanceListener):
        """Has no other effect."""

    with ThreadedCluster(brokers=1, topics=[f"{TOPIC}:1:1"]) as cluster, Consumer(**options(cluster)) as consumer:
        consumer.subscribe([TOPIC], Listener())
        for _ in attempts("an assignment", seconds=READ_S):
            consumer.poll(0.1)
            if consumer.assignment():
                break
        name = "partition-assigned-latency-max"
        assert consumer.metrics()[name] >= 0
        assert consumer.metrics()["last-rebalance-seconds-ago"] >= 0


def test_a_consumer_on_an_event_loop_has_the_same_metrics() -> None:
    async def read(cluster: ThreadedCluster) -> list[float]:
        async with AsyncConsumer(**options(cluster)) as consumer:
            await consumer.subscribe([TOPIC])
            before = consumer.metrics()["last-poll-seconds-ago"]
            await consumer.poll(0)
            return [before, *(consumer.metrics()[name] for name in ("last-poll-seconds-ago", "records-consumed-total"))]

    with ThreadedCluster(brokers=1, topics=[f"{TOPIC}:1:1"]) as cluster:
        assert asyncio.run(read(cluster)) == [-1, 0, 0]
