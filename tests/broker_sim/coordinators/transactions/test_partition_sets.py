"""The orders that real brokers listed: 3.7.2 for Scala's sets, 4.3.1 for Java's."""

from __future__ import annotations

from broker_sim.coordinators.transactions.partition_sets import by_topic, in_set_order
from broker_sim.topic_partition import TopicPartition

PREFIX = "add-partitions-to-txn-partitions-in-every-version-"


def partitions(*names: str) -> list[TopicPartition]:
    return [TopicPartition(PREFIX + name[0], int(name[1:])) for name in names]


def test_a_set_lists_partitions_by_their_hashes() -> None:
    given = partitions("t0", "t3", "u1", "u0")
    for java in (True, False):
        assert in_set_order(given, java=java) == partitions("u0", "t0", "u1", "t3")


def test_records_of_scala_list_small_sets_as_they_were_made() -> None:
    name = "transaction-log-records-of-transactions-t"
    given = [TopicPartition(name, 2), TopicPartition(name, 0)]
    assert by_topic(given, java=False, copied=2) == [(name, [2, 0])]
    assert by_topic(given, java=False) == [(name, [0, 2])]


def test_records_of_scala_list_large_sets_by_their_numbers() -> None:
    given = partitions("t0", "t3", "u1", "u0", "t1")
    assert by_topic(given, java=False, copied=8) == [(PREFIX + "t", [0, 1, 3]), (PREFIX + "u", [0, 1])]


def test_records_of_java_list_topics_by_their_hashes() -> None:
    name = "transaction-log-records-of-transactions-"
    given = [TopicPartition(name + "t", 2), TopicPartition(name + "t", 0), TopicPartition(name + "u", 1)]
    assert by_topic(given, java=True) == [(name + "u", [1]), (name + "t", [0, 2])]
