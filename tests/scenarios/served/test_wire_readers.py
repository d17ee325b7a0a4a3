from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_scenarios.ledger.judgement import judge_book, read_brokers
from broker_scenarios.served.wire_book import WireBook
from broker_scenarios.served.wire_readers import WireReaders
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.ledger.ledger_verdict import LedgerVerdict
    from broker_scenarios.served.wire_readers import GroupReads

PATIENCE_S = 20
ALONE = {"replication.factor": 1, "min.insync.replicas": 1}


class Followed:
    """A cluster with ten records in one partition, whose clients are followed."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.cluster = cluster
        self.wire: WireBook = cluster.call(lambda: WireBook(cluster.cluster, ["orders"]))
        self.readers: WireReaders = cluster.call(lambda: WireReaders(cluster.cluster, self.wire.book))
        self.produce(range(10))

    def produce(self, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for number in numbers:
            producer.produce("orders", f"value {number}")
        assert producer.flush(PATIENCE_S) == 0

    def consumer(self, **config: Any) -> Consumer:
        servers = self.cluster.bootstrap_servers
        base = {"bootstrap.servers": servers, "group.id": "billing", "auto.offset.reset": "earliest"}
        return Consumer({**base, "enable.auto.commit": False, **config})

    def member(self) -> Consumer:
        consumer = self.consumer()
        consumer.subscribe(["orders"])
        return consumer

    def reads(self) -> list[GroupReads]:
        stored = [("orders", each.partition, each.offset) for each in self.cluster.records("orders")]
        return self.cluster.call(lambda: list(self.readers.reads(stored)))  # type: ignore[no-any-return]

    def verdict(self, *topics: str) -> LedgerVerdict:
        self.cluster.call(self.wire.close)
        brokers = self.cluster.call(read_brokers, self.cluster.cluster, topics or ("orders",))
        return judge_book(self.wire.book, brokers, ALONE, all_delivered=True, other_producers=False)


@pytest.fixture
def followed() -> Iterator[Followed]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], quick_groups=True) as running:
        yield Followed(running)


def take(consumer: Consumer, count: int) -> None:
    assert len(consumer.consume(count, PATIENCE_S)) == count


def test_a_group_that_has_read_and_committed_all(followed: Followed) -> None:
    consumer = followed.member()
    take(consumer, 10)
    consumer.commit(asynchronous=False)
    consumer.close()
    (reads,) = followed.reads()
    assert reads.text() == "group billing, orders-0: 10 read from 0 to 10, committed 10"
    assert followed.verdict().valid


def test_records_that_were_not_committed_are_read_again(followed: Followed) -> None:
    first = followed.member()
    take(first, 10)
    first.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
    first.close()
    (reads,) = followed.reads()
    assert (reads.committed, reads.uncommitted, reads.read_again) == (7, 3, 0)
    second = followed.member()
    take(second, 3)
    second.close()
    (reads,) = followed.reads()
    assert (reads.read_again, reads.uncommitted) == (3, 3)
    verdict = followed.verdict()
    assert len(verdict.judged.found("consume-counts")) == 3
    assert verdict.valid, "a group may read a record again"


def test_a_commit_beyond_what_was_read_skips_records(followed: Followed) -> None:
    # The next request of a consumer that closes would be responded to as soon as there are more records.
    followed.cluster.add_rule({"select": {"api": "Fetch", "nth": 2}, "act": "hold"})
    consumer = followed.member()
    take(consumer, 10)
    consumer.commit(asynchronous=False)
    followed.cluster.wait_for_rule("rule-1")
    consumer.close()
    followed.produce(range(10, 15))
    # Not a member any more: the commit is of a tool, as a reset of offsets.
    tool = Consumer({"bootstrap.servers": followed.cluster.bootstrap_servers, "group.id": "billing"})
    tool.commit(offsets=[TopicPartition("orders", 0, 12)], asynchronous=False)
    (reads,) = followed.reads()
    assert (reads.committed, reads.unread, reads.committed_unread) == (12, 5, 0)
    late = followed.member()
    take(late, 3)
    late.close()
    (reads,) = followed.reads()
    assert (reads.read, reads.skipped, reads.unread) == (13, 2, 0)
    verdict = followed.verdict()
    assert verdict.undelivered == ["value 10", "value 11"]
    tool.close()


def test_a_member_that_commits_records_before_it_reads_them(followed: Followed) -> None:
    followed.cluster.add_rule({"select": {"api": "Fetch", "nth": 2}, "act": "hold"})
    consumer = followed.member()
    take(consumer, 10)
    followed.produce(range(10, 15))
    consumer.commit(offsets=[TopicPartition("orders", 0, 13)], asynchronous=False)
    (reads,) = followed.reads()
    assert (reads.committed, reads.committed_unread) == (13, 3)
    assert reads.text().endswith("committed 13, 5 unread, 3 committed before they were read")
    followed.cluster.release_rule("rule-1")
    consumer.close()


def test_a_consumer_that_assigns_itself_belongs_to_the_group_in_which_it_commits(followed: Followed) -> None:
    consumer = followed.consumer(**{"client.id": "batch"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    take(consumer, 10)
    assert followed.cluster.call(followed.readers.strangers) == {"batch": 10}
    consumer.commit(asynchronous=False)
    (reads,) = followed.reads()
    assert reads.text() == "group billing, orders-0: 10 read from 0 to 10, committed 10"
    consumer.close()


def test_a_topic_without_a_consumer_has_no_unread_records(followed: Followed) -> None:
    cluster = followed.cluster
    cluster.create_topic("payments:1:1")
    cluster.call(lambda: setattr(followed.wire.book, "topics", ("orders", "payments")))
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("payments", "one")
    assert producer.flush(PATIENCE_S) == 0
    consumer = followed.member()
    take(consumer, 10)
    consumer.close()
    verdict = followed.verdict("orders", "payments")
    assert verdict.undelivered == []


def test_a_consumer_that_has_read_nothing_is_one(followed: Followed) -> None:
    consumer = followed.consumer(**{"auto.offset.reset": "latest"})
    consumer.subscribe(["orders"])
    consumer.poll(0)
    followed.cluster.wait_for_group("billing")
    while not followed.reads():
        consumer.poll(0.05)
    consumer.close()
    assert len(followed.verdict().undelivered) == 10


def test_an_injected_error_is_no_read(followed: Followed) -> None:
    followed.cluster.add_rule({"select": {"api": "Fetch", "nth": 1}, "act": {"error": "NOT_LEADER_OR_FOLLOWER"}})
    consumer = followed.member()
    take(consumer, 10)
    consumer.close()
    (reads,) = followed.reads()
    assert (reads.read, reads.read_again) == (10, 0)
