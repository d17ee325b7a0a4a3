"""A user's DataFrame is sent to brokers on TCP, read back and judged, with a copy that a lost response leaves."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
from pyspark.sql import functions as f

from broker_client import Producer
from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.judge import check_history
from broker_scenarios.spark.observed_topics import ObservedTopics
from broker_scenarios.spark.verified_load import verify_load
from broker_scenarios.verdict import Validity
from broker_sim.threaded_cluster import ThreadedCluster

TOPICS = ["orders:2:2"]
CONFIG = {"min.insync.replicas": "2"}  # acks=all then promises that no record is lost
LOST_RESPONSE = {
    "name": "lost-response",
    "select": {"api": "Produce", "partition": 0, "nth": 1},
    "phase": "before_response",
    "act": "disconnect",
}
ROWS = 60


@pytest.fixture
def cluster():
    with closing(ThreadedCluster(brokers=2, topics=TOPICS, config=CONFIG)) as cluster:
        yield cluster


@pytest.fixture
def unread(monkeypatch):
    """The first record of the load in partition 1 is not found in the log, as if the cluster had lost it."""
    settled_ranges = ObservedTopics.settled_ranges

    def without_one(self, **given):
        # A request to the leader of the other partition loses its response.
        return [replace(each, start=each.start + each.partition) for each in settled_ranges(self, **given)]

    monkeypatch.setattr(ObservedTopics, "settled_ranges", without_one)


@pytest.mark.usefixtures("unread")
def test_each_record_is_judged_also_if_its_value_is_not_the_only_one_of_its_kind(spark, cluster, tmp_path):
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send("orders", b"of an earlier run")
    cluster.add_rule(LOST_RESPONSE)
    frame = spark.range(0, ROWS, 1, 4).select(
        f.lit("same").alias("value"),
        f.when(f.col("id") % 3 == 0, "key").alias("key"),
        f.when(f.col("id") % 2 == 0, f.array(f.struct(f.lit("h").alias("key"), f.lit(b"x").alias("value")))).alias(
            "headers"
        ),
        (f.col("id") % 2).cast("int").alias("partition"),
    )
    config = {"enable.idempotence": "false", "acks": "all"}
    verdict = verify_load(frame, cluster.bootstrap_servers, tmp_path, topic="orders", producer_config=config)
    counts = verdict.counts
    assert (counts.sent, counts.acked, counts.stored, counts.lost, verdict.others) == (ROWS, ROWS, ROWS - 1, 1, 0)
    assert 0 < counts.duplicated < ROWS
    assert verdict.validity is Validity.BROKEN
    assert verdict.verdict.found("duplicate") == counts.duplicated
    assert {group.kind: group.permitted_because is None for group in verdict.verdict.groups} == {
        "lost-write": True,
        "duplicate": False,
    }
    # The folder is what `broker-sim check` takes.
    promises = tmp_path / "promises.json"
    assert json.loads(promises.read_text())["topics"] == {"orders": 2}
    again = check_history(tmp_path / "history", promises, tmp_path / "logs")
    assert (again.validity, len(again.found("duplicate"))) == (Validity.BROKEN, counts.duplicated)
    assert len(again.found("lost-write")) == 1


def test_columns_and_topics_that_cannot_be_used_are_refused_before_the_load(spark, cluster, tmp_path):
    servers = cluster.bootstrap_servers
    frame = spark.range(1).select(f.lit("v").alias("value"))
    for wrong, given, message in [
        (spark.range(1), {"topic": "orders"}, "the DataFrame: column 'id' is no part of a record"),
        (frame, {"topic": "absent"}, "the topics of the load: absent: UNKNOWN_TOPIC_OR_PARTITION"),
        (
            frame,
            {"topic": "orders", "producer_config": {"transactional.id": "x"}},
            "transactional.id='x' cannot be set",
        ),
    ]:
        with pytest.raises(ScenarioError, match=message):
            verify_load(wrong, servers, tmp_path, **given)
