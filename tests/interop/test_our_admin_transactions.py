"""The transaction calls of our Admin on real Kafka and on our cluster of its release: equal calls, equal results."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_client import OffsetSpec, Producer, TopicPartition
from broker_client.admin import AbortTransactionSpec, Admin, TransactionState
from broker_client.errors import ProducerError
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka
from tests.interop.test_our_admin import until
from tests.interop.test_our_admin_groups import BROKERS, KEYS, Both

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS: Final = {
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
ENDING: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
VARIABLE: Final = ("coordinator_id", "producer_id", "transaction_start_time_ms", "last_timestamp_ms")
"""Which broker coordinates differs, and from its block come the producer ids; times differ by nature."""


class Transactions(Both):
    """A transactional producer on each cluster beside the admin."""

    def comparable(self, value: Any) -> Any:
        """Return a result in which ids and times are only present or not."""
        if isinstance(value, dict):
            return {name: one is not None if name in VARIABLE else self.comparable(one) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.comparable(one) for one in value]
        return re.sub(r"producer_id=\d+", "producer_id=ID", value) if isinstance(value, str) else value

    def producers(self, transactional_id: str) -> list[Producer]:
        """Return a producer per cluster, in a transaction with a record in each partition."""
        made = [Producer(bootstrap_servers=servers, transactional_id=transactional_id) for servers in self.servers]
        for producer in made:
            producer.init_transactions()
            producer.begin_transaction()
            for key in KEYS:
                producer.send(key.topic, b"v", partition=key.partition).result(30)
        return made


@pytest.fixture(scope="module", params=RELEASES)
def both(request: pytest.FixtureRequest) -> Iterator[Transactions]:
    with (
        real_kafka(request.param, brokers=BROKERS, settings=SETTINGS) as kafka,
        ThreadedCluster(release=request.param, brokers=BROKERS, config=SETTINGS) as ours,
    ):
        clients = Transactions(request.param, kafka.bootstrap_servers, ours.bootstrap_servers)
        yield clients
        clients.close()


def stable(admin: Admin) -> list[int]:
    """Return the last stable offset of each partition."""
    listed = admin.list_offsets(dict.fromkeys(KEYS, OffsetSpec.LATEST), isolation_level="read_committed")
    return [one.offset for one in listed.values()]


def test_transactions_are_described_and_listed_alike(both: Transactions) -> None:
    names = ["committed", "aborted", "open", "absent", ""]
    ended = [both.producers(name) for name in names[:2]]
    for producer in ended[0]:
        producer.commit_transaction()
    for producer in ended[1]:
        producer.abort_transaction()
    opened = both.producers("open")
    for admin in both.admins:
        until(partial(admin.list_transactions, states=ENDING), lambda listed: not listed)
    found = both.call(lambda admin: admin.describe_transactions(names))
    assert found["done"]["open"]["topic_partitions"] == [["orders", 0], ["orders", 1]]
    assert [found["done"][name]["state"] for name in names[:3]] == ["COMPLETE_COMMIT", "COMPLETE_ABORT", "ONGOING"]
    assert [one[0] for one in found["errors"].values()] == ["TransactionalIdNotFound", "BrokerError"]
    assert list(both.call(lambda admin: admin.list_transactions())) == ["aborted", "committed", "open"]
    for states in ([TransactionState.ONGOING, TransactionState.EMPTY], [TransactionState.UNKNOWN]):
        both.call(lambda admin, states=states: admin.list_transactions(states=states))  # type: ignore[misc]

    def by_producer(admin: Admin) -> Any:
        known = admin.describe_transactions(["open"])["open"].producer_id
        return admin.list_transactions(producer_ids=[known, 999_999])

    assert list(both.call(by_producer)) == ["open"]
    for duration_ms in (-1, 0, 3_600_000):
        both.call(lambda admin, duration_ms=duration_ms: admin.list_transactions(duration_ms=duration_ms))  # type: ignore[misc]
    for pattern in ("", "o", "o.*", ".*ed|x", "("):
        both.call(lambda admin, pattern=pattern: admin.list_transactions(transactional_id_pattern=pattern))  # type: ignore[misc]
    for producers in (*ended, opened):
        for producer in producers:
            producer.close()


def test_producers_are_described_and_their_transactions_aborted_alike(both: Transactions) -> None:
    opened = both.producers("hanging")

    def state_of(admin: Admin) -> Any:
        known = admin.describe_transactions(["hanging"])["hanging"].producer_id
        return next(one for one in admin.describe_producers(KEYS[:1])[KEYS[0]] if one.producer_id == known)

    both.call(lambda admin: [replace(state_of(admin), current_transaction_start_offset=0)])
    both.call(lambda admin: len(admin.describe_producers(KEYS)))

    def described_by_each(admin: Admin) -> Any:
        results = []
        for broker_id in range(1, BROKERS + 1):
            try:
                results.append(len(admin.describe_producers(KEYS[:1], broker_id=broker_id)))
            except ProducerError as error:
                results.append(str(error))
        return sorted(map(str, results))

    assert "NOT_LEADER_OR_FOLLOWER" in both.call(described_by_each)[1]
    both.call(lambda admin: admin.describe_producers([TopicPartition("no way", 0)]))

    def abort(admin: Admin, *, epoch: int = 0, coordinator_epoch: int = 0, partition: int = 0) -> Any:
        state = state_of(admin)
        return admin.abort_transaction(
            AbortTransactionSpec(
                topic_partition=KEYS[partition],
                producer_id=state.producer_id,
                producer_epoch=state.producer_epoch + epoch,
                coordinator_epoch=coordinator_epoch,
            )
        )

    before = [stable(admin) for admin in both.admins]
    both.call(lambda admin: abort(admin, coordinator_epoch=4))
    after = [stable(admin) for admin in both.admins]
    assert [[new > old for new, old in zip(*one, strict=True)] for one in zip(after, before, strict=True)] == [
        [True, False]
    ] * 2
    both.call(lambda admin: abort(admin, coordinator_epoch=3))
    both.call(lambda admin: abort(admin, epoch=-1, coordinator_epoch=4))
    both.call(lambda admin: abort(admin, epoch=2, coordinator_epoch=5, partition=1))
    both.call(lambda admin: replace(state_of(admin), last_sequence=0))
    for producer in opened:
        producer.close(timeout=0)


def test_producers_are_fenced_alike(both: Transactions) -> None:
    opened = both.producers("old")
    fenced = both.call(lambda admin: admin.fence_producers(["old", "new", ""]))
    assert fenced["done"]["new"]["producer_epoch"] == 0
    assert list(fenced["errors"]) == [""]
    both.call(lambda admin: admin.describe_transactions(["old", "new"]))
    errors = []
    for producer in opened:
        with pytest.raises(ProducerError) as error:
            producer.commit_transaction()
        errors.append(type(error.value))
        producer.close(timeout=0)
    assert errors[0] is errors[1]
