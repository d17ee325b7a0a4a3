"""The transaction calls of Admin on clusters of several releases, over sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from broker_client import Admin, OffsetSpec, Producer, TopicPartition
from broker_client.admin import AbortTransactionSpec, ItemsFailed, TransactionState
from broker_client.errors import ProducerError, UnsupportedVersion
from broker_client.transaction_errors import (
    InvalidProducerEpoch,
    TransactionalIdNotFound,
    TransactionCoordinatorFenced,
)
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASES: Final = ("0.11", "2.8", "3.7", "4.3.1")
KEYS: Final = [TopicPartition("orders", 0), TopicPartition("orders", 1)]


class Served:
    """A cluster of one release, its admin client, and a producer with an open transaction in both partitions."""

    def __init__(self, release: str) -> None:
        self.number = tuple(map(int, release.split(".")))
        self.cluster = ThreadedCluster(
            release=release,
            brokers=2,
            topics=["orders:2:1"],
            config={
                "transaction.state.log.num.partitions": "2",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
            },
        )
        servers = self.cluster.bootstrap_servers
        self.admin = Admin(bootstrap_servers=servers)
        self.admin.fence_producers(["payments"])  # the next epoch is 1, so that there is an older one
        self.producer = Producer(bootstrap_servers=servers, transactional_id="payments")
        self.producer.init_transactions()
        self.producer.begin_transaction()
        for key in KEYS:
            self.producer.send(key.topic, b"open", partition=key.partition).result(10)

    def last_stable_offset(self, key: TopicPartition) -> int:
        listed = self.admin.list_offsets({key: OffsetSpec.LATEST}, isolation_level="read_committed")
        return listed[key].offset

    def close(self) -> None:
        self.producer.close(timeout=0)
        self.admin.close()
        self.cluster.close()


@pytest.fixture(params=RELEASES)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    made = Served(request.param)
    yield made
    made.close()


def test_a_transaction_is_described_listed_and_fenced(served: Served) -> None:
    admin = served.admin
    if served.number < (3, 0):
        with pytest.raises(UnsupportedVersion, match="the node does not support DescribeTransactions"):
            admin.describe_transactions(["payments"])
        with pytest.raises(UnsupportedVersion, match="the node does not support ListTransactions"):
            admin.list_transactions()
    else:
        with pytest.raises(ItemsFailed) as failed:
            admin.describe_transactions(["payments", "absent"])
        assert isinstance(failed.value.errors["absent"], TransactionalIdNotFound)
        described = failed.value.done["payments"]
        assert (described.state, described.topic_partitions) == (TransactionState.ONGOING, tuple(KEYS))
        assert described.transaction_timeout_ms == 60_000
        assert described.transaction_start_time_ms is not None
        (listed,) = admin.list_transactions(states=[TransactionState.ONGOING]).values()
        assert (listed.transactional_id, listed.producer_id) == ("payments", described.producer_id)
        assert admin.list_transactions(producer_ids=[described.producer_id + 1]) == {}
    if served.number >= (4, 1):
        assert list(admin.list_transactions(transactional_id_pattern="pay.*", duration_ms=0)) == ["payments"]
        assert admin.list_transactions(duration_ms=3_600_000) == {}
    assert [served.last_stable_offset(key) for key in KEYS] == [0, 0]
    fenced = admin.fence_producers(["payments", "new"])
    assert (fenced["payments"].producer_epoch > 1, fenced["new"].producer_epoch) == (True, 0)
    assert [served.last_stable_offset(key) for key in KEYS] == [2, 2]
    with pytest.raises(ProducerError, match=r"FENCED|INVALID_PRODUCER_EPOCH"):
        served.producer.commit_transaction()


def test_a_transaction_is_aborted_in_one_partition(served: Served) -> None:
    admin = served.admin
    if served.number < (2, 8):
        with pytest.raises(UnsupportedVersion, match="the node does not support DescribeProducers"):
            admin.describe_producers(KEYS)
        return
    states = admin.describe_producers(KEYS)
    (state,) = states[KEYS[0]]
    assert (state.last_sequence, state.current_transaction_start_offset, state.coordinator_epoch) == (0, 0, None)
    assert state.last_timestamp_ms > 0

    def spec(producer_epoch: int, coordinator_epoch: int) -> AbortTransactionSpec:
        return AbortTransactionSpec(
            topic_partition=KEYS[0],
            producer_id=state.producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
        )

    admin.abort_transaction(spec(state.producer_epoch, 5))
    assert [served.last_stable_offset(key) for key in KEYS] == [2, 0]
    (after,) = admin.describe_producers(KEYS[:1])[KEYS[0]]
    assert (after.current_transaction_start_offset, after.coordinator_epoch) == (None, 5)
    for refused, kind in (
        (spec(state.producer_epoch - 1, 5), InvalidProducerEpoch),
        (spec(state.producer_epoch, 4), TransactionCoordinatorFenced),
    ):
        with pytest.raises(ItemsFailed, match=r"the marker of AbortTransactionSpec") as failed:
            admin.abort_transaction(refused)
        assert isinstance(failed.value.errors[KEYS[0]], kind)


def test_one_broker_describes_only_its_own_replicas(served: Served) -> None:
    if served.number < (2, 8):
        return
    leader = served.cluster.leader_of("orders", 0)
    assert leader is not None
    described = served.admin.describe_producers(KEYS[:1], broker_id=leader)
    assert described == served.admin.describe_producers(KEYS[:1])
    with pytest.raises(ItemsFailed, match="orders-0: NOT_LEADER_OR_FOLLOWER"):
        served.admin.describe_producers(KEYS[:1], broker_id=3 - leader)
