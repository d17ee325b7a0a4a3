"""Transactions as the responses of Fetch, ListOffsets and DescribeProducers show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.records.record_set import read_any_record_set
from tests.broker_sim.log.transactional_log import ABORT, COMMIT, NOW_MS, marker, records, without_verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.messages.fetch import PartitionData

ORDERS = TopicPartition("orders", 0)
READ_COMMITTED = 1


class Transactions:
    """One partition to which batches are appended without the checks of Produce."""

    def __init__(self, bench: Callable[..., Any], *, release: str = "4.3.1", **config: str) -> None:
        names = {name.replace("_", "."): value for name, value in config.items()}
        self.api = bench(
            topics=[TopicSpec(name="orders")], release=release, config=without_verification(release) | names
        )
        self.manager = self.api.cluster.brokers[1].replica_manager

    def append(self, sequence: int, **options: Any) -> None:
        [result] = self.manager.append_records(
            request_id=1, timeout_ms=1000, required_acks=-1, entries=[(ORDERS, records(sequence, **options))]
        )
        assert not result.error_code

    def end(self, kind: Any = COMMIT, **options: Any) -> None:
        assert self.manager.append_markers(1000, {ORDERS: marker(kind, **options)}, 0) == {ORDERS: ErrorCode.NONE}

    def fetch_request(self, offset: int, isolation: int = READ_COMMITTED, **fields: Any) -> FetchRequest:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        topics = [FetchTopic(topic="orders", partitions=[wanted])]
        fields = {"max_wait_ms": 0, "min_bytes": 1} | fields
        return FetchRequest(replica_id=-1, isolation_level=isolation, topics=topics, **fields)

    def fetch(self, offset: int, isolation: int = READ_COMMITTED, *, version: int = 12) -> PartitionData:
        response = self.api.exchange(self.fetch_request(offset, isolation), version)
        return response.responses[0].partitions[0]  # type: ignore[no-any-return]

    def offset(self, timestamp: int, isolation: int = READ_COMMITTED) -> tuple[int, int, int]:
        """Return error, timestamp and offset of a ListOffsets."""
        wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[ListOffsetsTopic(name="orders", partitions=[wanted])],
        )
        [found] = self.api.exchange(request, 7).topics[0].partitions
        return found.error_code, found.timestamp, found.offset


def offsets_of(data: PartitionData) -> list[int]:
    return [record.offset for record in read_any_record_set(data.records or b"")]


def aborted_of(data: PartitionData) -> list[tuple[int, int]] | None:
    if data.aborted_transactions is None:
        return None
    return [(each.producer_id, each.first_offset) for each in data.aborted_transactions]


@pytest.mark.parametrize("version", [4, 11, 12])
@pytest.mark.parametrize("release", ["0.11", "3.7", "4.3"])
def test_read_committed_ends_at_the_last_stable_offset(bench: Callable[..., Any], release: str, version: int) -> None:
    if release == "0.11" and version > 5:
        version = 5
    side = Transactions(bench, release=release)
    side.append(0, producer=1, transactional=False)
    side.append(0)
    side.append(1, producer=1, transactional=False)
    committed = side.fetch(0, version=version)
    assert (offsets_of(committed), aborted_of(committed)) == ([0], [])
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    uncommitted = side.fetch(0, 0, version=version)
    assert (offsets_of(uncommitted), aborted_of(uncommitted)) == ([0, 1, 2], None)
    assert uncommitted.last_stable_offset == 1
    side.end(ABORT)
    committed = side.fetch(0, version=version)
    assert (offsets_of(committed), aborted_of(committed)) == ([0, 1, 2, 3], [(7, 1)])
    assert aborted_of(side.fetch(4, version=version)) == []


def test_a_parked_fetch_completes_when_the_last_stable_offset_moves(bench: Callable[..., Any]) -> None:
    side = Transactions(bench)
    side.append(0)
    calls = PlainCalls(side.api.cluster.brokers[1])
    responses: list[Any] = []
    waiting = calls.call(side.fetch_request(0, max_wait_ms=60_000), 12)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(responses.append)
    side.api.reactor.run_for(ms=50)
    side.append(1)
    side.api.reactor.run_for(ms=50)
    assert responses == []
    side.end(ABORT)
    side.api.reactor.run_for(ms=1)
    [data] = responses[0].responses[0].partitions
    assert (aborted_of(data), data.last_stable_offset) == ([(7, 0)], 3)


def test_list_offsets_sees_the_last_stable_offset(bench: Callable[..., Any]) -> None:
    side = Transactions(bench)
    side.append(0, producer=1, transactional=False, time_ms=NOW_MS)
    side.append(0, time_ms=NOW_MS + 10)
    side.append(1, producer=1, transactional=False, time_ms=NOW_MS + 20)
    assert side.offset(-1) == (0, -1, 1)
    assert side.offset(-1, 0) == (0, -1, 3)
    assert side.offset(NOW_MS) == (0, NOW_MS, 0)
    assert side.offset(NOW_MS + 1) == (0, -1, -1)
    assert side.offset(NOW_MS + 1, 0) == (0, NOW_MS + 10, 1)
    side.end()
    assert side.offset(-1) == (0, -1, 4)
    assert side.offset(NOW_MS + 1) == (0, NOW_MS + 10, 1)


def test_producers_are_described_with_their_transaction_and_coordinator(bench: Callable[..., Any]) -> None:
    side = Transactions(bench)
    side.append(0, producer=8)
    side.append(0)
    side.end(producer=8, coordinator_epoch=4)
    request = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[0])])
    [described] = side.api.exchange(request, 0).topics[0].partitions
    found = [
        (each.producer_id, each.coordinator_epoch, each.current_txn_start_offset) for each in described.active_producers
    ]
    assert found == [(7, -1, 1), (8, 4, -1)]


def test_old_fetches_do_not_see_markers(bench: Callable[..., Any]) -> None:
    side = Transactions(bench, release="3.7")
    side.append(0, count=2)
    side.end()
    side.append(0, producer=1, transactional=False)
    for version in (1, 3):
        assert offsets_of(side.fetch(0, 0, version=version)) == [0, 1, 3]


def test_a_hanging_transaction_is_late_five_minutes_after_its_time(bench: Callable[..., Any]) -> None:
    side = Transactions(bench, transaction_max_timeout_ms="1000")
    side.append(0)
    side.append(0, producer=8)
    late = []
    for wait_s in (0, 300, 2):
        side.api.reactor.run_for(ms=wait_s * 1000)
        late.append(side.api.cluster.metrics().value("PartitionsWithLateTransactionsCount"))
    assert late == [0, 0, 1]
    side.end(ABORT)
    side.end(ABORT, producer=8)
    assert side.api.cluster.metrics().value("PartitionsWithLateTransactionsCount") == 0
