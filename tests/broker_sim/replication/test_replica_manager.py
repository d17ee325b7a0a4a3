"""Appends and fetches as clients see them, in the ways of acks, ISR, epochs and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import BatchAppended, BatchDeduplicated, Detail, ProduceCompleted
from broker_sim.log.append_results import RecordsRefused
from broker_sim.replication.requests import FetchIsolation, FetchParams, PartitionFetch, PartitionFetchResult
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.log.transactional_log import ABORT, marker, records, without_verification

if TYPE_CHECKING:
    from broker_sim.log.append_results import PartitionAppend

Make = Any
MIN_ISR_2 = {"min.insync.replicas": "2"}
LAG = {"replica.lag.time.max.ms": "2000"}


class Reader:
    """Fetches the one partition of `Replicas`."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.results: list[PartitionFetchResult] = []

    def fetch(self, offset: int, *, broker: int = 1, max_bytes: int = 1 << 20, **options: Any) -> Reader:
        self.results = []
        partition = {
            name: options.pop(name)
            for name in ("current_leader_epoch", "last_fetched_epoch", "topic_id")
            if name in options
        }
        params = FetchParams(**{"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, **options})
        response = self.cluster.cluster.broker(broker).replica_manager.fetch(
            params=params,
            partitions=[
                PartitionFetch(
                    topic_partition=self.cluster.topic, fetch_offset=offset, max_bytes=max_bytes, **partition
                )
            ],
        )
        if isinstance(response, Deferred):
            response.addCallback(self.results.extend)
        else:
            self.results.extend(response)
        return self

    @property
    def offsets(self) -> list[int]:
        return [batch.base_offset for batch in self.results[0].batches]


# Produce -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", list(Detail))
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_every_acks_gets_the_offset_of_its_append(replicas: Make, acks: int, detail: Detail) -> None:
    cluster = replicas(detail=detail)
    assert cluster.produce(1, 2, acks=acks).base_offset == 0
    response = cluster.produce(3, acks=acks)
    assert (response.error_code, response.base_offset, response.last_offset, response.log_start_offset) == (0, 2, 2, 0)


def test_acks_all_waits_for_the_slowest_of_the_isr(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.links.link(1, 3).set_delay(40)
    waiting = cluster.send(1)
    cluster.run(ms=39)
    assert waiting == []
    cluster.run(ms=1)
    assert waiting[0].error_code is ErrorCode.NONE


def test_a_produce_that_times_out_still_has_its_real_offset(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.links.link(1, 3).hold()
    waiting = cluster.send(1, timeout_ms=750)
    cluster.run(ms=749)
    assert waiting == []
    cluster.run(ms=1)
    assert (waiting[0].error_code, waiting[0].base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 1)
    cluster.cluster.links.link(1, 3).release()
    cluster.run(ms=10)
    assert cluster.high_watermark(1) == 2


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
def test_a_produce_without_time_to_wait_times_out_before_any_follower_has_fetched(
    replicas: Make, timeout_ms: int
) -> None:
    cluster = replicas()
    cluster.produce(0)
    returned = cluster.send(1, timeout_ms=timeout_ms)
    cluster.run(ms=10)
    assert (returned[0].error_code, returned[0].base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 1)
    assert cluster.high_watermark(1) == 2


def test_too_few_in_sync_replicas_refuse_acks_all_before_the_append_and_take_acks_1(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2, config=LAG)
    cluster.produce(0)
    cluster.cluster.isolate(2)
    cluster.cluster.isolate(3)
    cluster.produce(1, acks=1)
    cluster.run(ms=4_000)
    assert cluster.isr() == (1,)
    refused = cluster.produce(2)
    assert (refused.error_code, refused.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    taken = cluster.produce(3, acks=1)
    assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 2)
    assert cluster.values(1) == [0, 1, 3]
    assert cluster.high_watermark(1) == 1, "below the minimum the high watermark stands still"


def test_min_isr_is_capped_at_the_replicas_there_are(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2, replication_factor=1)
    assert cluster.produce(1).error_code is ErrorCode.NONE


def test_a_follower_and_a_stranger_refuse_a_produce(replicas: Make) -> None:
    cluster = replicas(replication_factor=2)
    assert cluster.produce(1, broker=2).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce(1, broker=3).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.topic = TopicPartition("t", 1)
    assert cluster.produce(1).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_duplicate_returns_its_first_offset_and_waits_for_that_offset_alone(replicas: Make) -> None:
    cluster = replicas()
    manager = cluster.cluster.broker(1).replica_manager

    def send(sequence: int) -> list[Any]:
        responses: list[Any] = []
        batch = cluster.batch(sequence, producer=(7, 0, sequence))
        response = manager.append_records(
            request_id=1, timeout_ms=1_000, required_acks=-1, entries=[(cluster.topic, batch)]
        )
        if isinstance(response, list):
            return response
        response.addCallback(responses.extend)
        return responses

    send(0)
    cluster.run(ms=600)
    cluster.cluster.links.link(1, 3).hold()
    first, second = send(1), send(2)
    again = send(1)
    at_once = send(0)
    assert (at_once[0].base_offset, at_once[0].duplicate) == (0, True)
    assert first == second == again == []
    cluster.cluster.links.link(1, 3).release()
    cluster.run(ms=10)
    assert [responses[0].base_offset for responses in (first, second, again)] == [1, 2, 1]
    assert cluster.values(1) == [0, 1, 2]
    assert len(cluster.journal.events_of(BatchDeduplicated)) == 2


def test_one_bad_partition_leaves_the_others_alone(replicas: Make) -> None:
    cluster = replicas(partitions=2)
    manager = cluster.cluster.broker(1).replica_manager
    responses = manager.append_records(
        request_id=1,
        timeout_ms=1_000,
        required_acks=-1,
        entries=[(TopicPartition("t", 1), cluster.batch(1)), (cluster.topic, cluster.batch(2))],
    )
    assert isinstance(responses, list), "the followers have confirmed within the call"
    assert [response.error_code for response in responses] == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]


def test_the_local_append_is_reported_before_any_replication(replicas: Make) -> None:
    cluster = replicas(detail=Detail.CLUSTER)
    ends: list[tuple[int, int]] = []
    cluster.cluster.broker(1).replica_manager.append_records(
        request_id=1,
        timeout_ms=1_000,
        required_acks=-1,
        entries=[(cluster.topic, cluster.batch(1))],
        on_local_append=lambda results: ends.append((results[0].last_offset, cluster.partition(2).log.log_end_offset)),
    )
    assert ends == [(0, 0)]


@pytest.mark.parametrize("detail", list(Detail))
def test_a_broker_that_dies_right_after_its_append_replicates_and_returns_nothing(
    replicas: Make, detail: Detail
) -> None:
    cluster = replicas(detail=detail)
    responses: list[Any] = []
    cluster.cluster.broker(1).replica_manager.append_records(
        request_id=1,
        timeout_ms=1_000,
        required_acks=-1,
        entries=[(cluster.topic, cluster.batch(1))],
        on_local_append=lambda _: cluster.cluster.kill(1),
    ).addCallback(responses.extend)
    cluster.run(ms=20_000)
    assert (cluster.values(1), cluster.values(2), responses) == ([1], [], [])


def test_the_journal_records_the_append_and_the_high_watermark_at_the_response(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1, 2, 3)
    (appended,) = cluster.journal.events_of(BatchAppended)
    assert (appended.base_offset, appended.last_offset, appended.records, appended.leader_epoch) == (0, 2, 3, 0)
    (returned,) = cluster.journal.events_of(ProduceCompleted)
    assert (returned.required_offset, returned.high_watermark, returned.isr, returned.acks) == (3, 3, (1, 2, 3), -1)


# Fetch -------------------------------------------------------------------------------------------------------------


def test_a_consumer_reads_up_to_the_high_watermark_and_a_follower_to_the_log_end(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.links.link(1, 3).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=10)
    reader = Reader(cluster)
    assert reader.fetch(0).offsets == [0]
    assert reader.fetch(0, isolation=FetchIsolation.LOG_END).offsets == [0, 1]
    assert (reader.results[0].high_watermark, reader.results[0].last_stable_offset) == (1, 1)


def test_a_consumer_at_the_end_is_woken_by_the_high_watermark(replicas: Make) -> None:
    cluster = replicas()
    reader = Reader(cluster).fetch(0)
    cluster.cluster.links.link(1, 3).set_delay(30)
    cluster.produce(0, acks=1)
    cluster.run(ms=29)
    assert reader.results == []
    cluster.run(ms=1)
    assert reader.offsets == [0]


def test_a_fetch_waits_for_its_minimum_of_bytes_or_its_time(replicas: Make) -> None:
    cluster = replicas()
    size = len(cluster.batch(0))
    reader = Reader(cluster).fetch(0, min_bytes=size * 2)
    cluster.produce(0)
    cluster.run(ms=100)
    assert reader.results == []
    cluster.produce(1)
    cluster.run(ms=0)
    assert reader.offsets == [0, 1]
    Reader.fetch(reader, 2, min_bytes=1, max_wait_ms=200)
    cluster.run(ms=199)
    assert reader.results == []
    cluster.run(ms=1)
    assert reader.offsets == []
    assert reader.results[0].error_code is ErrorCode.NONE


def test_a_fetch_of_several_partitions_adds_their_bytes_up(replicas: Make) -> None:
    cluster = replicas(partitions=4)
    size = len(cluster.batch(0))
    manager = cluster.cluster.broker(1).replica_manager
    results: list[Any] = []
    manager.fetch(
        params=FetchParams(max_wait_ms=5_000, min_bytes=size * 2, max_bytes=1 << 20),
        partitions=[
            PartitionFetch(topic_partition=TopicPartition("t", index), fetch_offset=0, max_bytes=1 << 20)
            for index in (0, 3)
        ],
    ).addCallback(results.extend)
    for index in (0, 3):
        assert results == []
        cluster.topic = TopicPartition("t", index)
        cluster.produce(index)
        cluster.run(ms=0)
    assert [len(result.batches) for result in results] == [1, 1]


def test_an_offset_outside_of_the_log_is_out_of_range(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    result = Reader(cluster).fetch(5).results[0]
    assert (result.error_code, result.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(0, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.NONE), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_reader_with_another_leader_epoch_is_fenced_or_unknown(replicas: Make, epoch: int, error: ErrorCode) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    result = Reader(cluster).fetch(0, broker=2, current_leader_epoch=epoch, max_wait_ms=0).results[0]
    assert result.error_code is error


def test_a_fetch_by_another_topic_id_is_inconsistent(replicas: Make) -> None:
    cluster = replicas()
    assert Reader(cluster).fetch(0, topic_id=bytes(16)).results[0].error_code is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_follower_serves_consumers_from_fetch_11_on(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    reader = Reader(cluster)
    assert reader.fetch(0, broker=2).results[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    waiting = Reader(cluster).fetch(0, broker=2, fetch_only_leader=False, max_wait_ms=1_000)
    assert waiting.results == [], "the high watermark reaches a follower one fetch later"
    cluster.run(ms=500)
    assert waiting.offsets == [0]


def test_a_lost_leadership_completes_parked_fetches_at_once(replicas: Make) -> None:
    cluster = replicas()
    reader = Reader(cluster).fetch(0, max_wait_ms=60_000)
    stopped = cluster.cluster.stop(1)
    cluster.run(ms=100)
    assert reader.results[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.world.run_until(stopped, deadline_ms=10_000)


def test_a_follower_over_the_wire_joins_the_isr_and_moves_the_high_watermark(replicas: Make) -> None:
    cluster = replicas(config=LAG)
    cluster.produce(0)
    cluster.cluster.links.link(3, 1).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=5_000)
    assert cluster.isr() == (1, 2)
    epoch = cluster.cluster.broker(3).broker_epoch
    follower = {"replica_id": 3, "replica_epoch": epoch, "isolation": FetchIsolation.LOG_END, "max_wait_ms": 0}
    Reader(cluster).fetch(2, **follower)
    cluster.run(ms=10)
    assert cluster.isr() == (1, 2, 3)


def test_a_stranger_is_no_follower(replicas: Make) -> None:
    cluster = replicas()
    reader = Reader(cluster)
    assert reader.fetch(0, replica_id=9).results[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    result = reader.fetch(0, replica_id=9, current_leader_epoch=0).results[0]
    assert result.error_code is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_diverging_epoch_is_returned_at_once_without_records(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    cluster.produce(1, broker=2)
    result = Reader(cluster).fetch(2, broker=2, last_fetched_epoch=0).results[0]
    assert result.diverging_epoch == (0, 1)
    assert result.batches == []


# Offsets -----------------------------------------------------------------------------------------------------------


def test_the_latest_offset_is_the_high_watermark_for_consumers_and_the_end_for_followers(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    cluster.cluster.links.link(1, 3).hold()
    cluster.produce(1, acks=1)
    cluster.run(ms=10)
    manager = cluster.cluster.broker(1).replica_manager

    def latest(isolation: FetchIsolation | None) -> int:
        return manager.list_offset(cluster.topic, timestamp=-1, isolation=isolation).offset

    assert latest(FetchIsolation.HIGH_WATERMARK) == 1
    assert latest(None) == 2
    assert manager.list_offset(cluster.topic, timestamp=-2, isolation=None).offset == 0


def test_a_new_leader_without_its_high_watermark_has_no_latest_offset_yet(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0)
    for follower in (2, 3):
        for other in (2, 3):
            if follower != other:
                cluster.cluster.links.link(follower, other).hold()
    cluster.cluster.kill(1)
    cluster.run(ms=9_000)
    manager = cluster.cluster.broker(2).replica_manager
    assert manager.partitions[cluster.topic].is_leader
    response = manager.list_offset(cluster.topic, timestamp=-1, isolation=FetchIsolation.HIGH_WATERMARK)
    assert response.error_code is ErrorCode.OFFSET_NOT_AVAILABLE
    cluster.cluster.links.link(3, 2).release()
    cluster.cluster.links.link(2, 3).release()
    cluster.run(ms=1_000)
    response = manager.list_offset(cluster.topic, timestamp=-1, isolation=FetchIsolation.HIGH_WATERMARK)
    assert (response.error_code, response.offset, response.leader_epoch) == (ErrorCode.NONE, 1, 1)


def test_where_a_leader_epoch_ends_is_where_the_next_one_starts(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(0, 1)
    cluster.cluster.kill(1)
    cluster.run(ms=10_000)
    cluster.produce(2, broker=2)
    manager = cluster.cluster.broker(2).replica_manager

    def end(epoch: int) -> tuple[int, int]:
        response = manager.last_offset_for_leader_epoch(cluster.topic, current_leader_epoch=-1, leader_epoch=epoch)
        return response.leader_epoch, response.end_offset

    assert (end(0), end(1), end(2)) == ((0, 2), (1, 3), (-1, -1))
    fenced = manager.last_offset_for_leader_epoch(cluster.topic, current_leader_epoch=0, leader_epoch=0)
    assert fenced.error_code is ErrorCode.FENCED_LEADER_EPOCH


def test_who_leads_is_known_of_partitions_elsewhere_too(replicas: Make) -> None:
    cluster = replicas(replication_factor=1)
    manager = cluster.cluster.broker(3).replica_manager
    assert manager.current_leader(cluster.topic) == (1, 0)
    assert manager.current_leader(TopicPartition("u", 0)) == (-1, -1)


# One partition --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", list(Detail))
@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("link", ["open", "held"])
def test_an_append_to_one_partition_equals_one_of_a_list(
    replicas: Make, acks: int, factor: int, detail: Detail, link: str
) -> None:
    def observed(*, in_a_list: bool) -> Any:
        cluster = replicas(replication_factor=factor, detail=detail)
        manager = cluster.cluster.broker(1).replica_manager
        completed: list[PartitionAppend] = []
        if link == "held":
            cluster.cluster.links.link(1, 3).hold()
        for produced in (cluster.batch(1), cluster.batch(2, 3, producer=(7, 0, 0)), b"no batch at all" * 9):
            for _ in range(2):
                if in_a_list:
                    result = manager.append_records(4, 750, acks, [(cluster.topic, produced)])
                else:
                    result = manager.append_to_partition(4, 750, acks, manager.partitions[cluster.topic], produced)
                if isinstance(result, Deferred):
                    result.addCallback(completed.extend)
                else:
                    completed.extend(result if isinstance(result, list) else [result])
                cluster.run(ms=300)
        cluster.run(ms=2_000)
        events = [event for event in cluster.journal.events if isinstance(event, ProduceCompleted | BatchAppended)]
        outcomes = [(each.error_code, each.base_offset, each.last_offset, each.duplicate) for each in completed]
        return outcomes, events, manager.topic_stats.metrics(1, 1.0), cluster.high_watermark(1)

    assert observed(in_a_list=False) == observed(in_a_list=True)


# Transaction markers -----------------------------------------------------------------------------------------------


def test_markers_wait_for_the_isr_and_each_partition_has_its_error(replicas: Make) -> None:
    cluster = replicas()
    cluster.hold_fetches(3)
    unknown = TopicPartition("unknown", 0)
    manager = cluster.cluster.broker(1).replica_manager
    results: list[dict[TopicPartition, ErrorCode]] = []
    waiting = manager.append_markers(1_000, {cluster.topic: marker(), unknown: marker()}, 2)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(results.append)
    cluster.run(ms=500)
    assert results == []
    cluster.release_fetches(3)
    cluster.run(ms=50)
    assert results == [{cluster.topic: ErrorCode.NONE, unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]
    fenced = manager.append_markers(1_000, {cluster.topic: marker(coordinator_epoch=-1)}, 2)
    assert fenced == {cluster.topic: ErrorCode.TRANSACTION_COORDINATOR_FENCED}


def test_followers_have_the_last_stable_offset_of_their_leader(replicas: Make) -> None:
    cluster = replicas(config=without_verification("4.3"))
    manager = cluster.cluster.broker(1).replica_manager
    for data in (cluster.batch(1), records(0), records(0, producer=8)):
        manager.append_records(request_id=1, timeout_ms=1_000, required_acks=-1, entries=[(cluster.topic, data)])
    manager.append_markers(1_000, {cluster.topic: marker(ABORT, producer=8)}, 0)
    cluster.run(ms=1_000)
    for broker in (1, 2, 3):
        log = cluster.partition(broker).log
        assert (log.high_watermark, log.last_stable_offset) == (4, 1)
    manager.append_markers(1_000, {cluster.topic: marker()}, 0)
    cluster.run(ms=1_000)
    for broker in (1, 2, 3):
        log = cluster.partition(broker).log
        assert log.last_stable_offset == 5
        assert [each.first_offset for each in log.aborted_transactions(0, 5)] == [2]


def test_a_leader_takes_the_guard_of_each_partition_and_a_follower_gives_none(replicas: Make) -> None:
    cluster = replicas()
    manager = cluster.cluster.broker(1).replica_manager
    guard = cluster.partition(1).start_verification(7, 0, 0, supports_epoch_bump=True)
    with pytest.raises(RecordsRefused) as refused:
        cluster.partition(2).start_verification(7, 0, 0, supports_epoch_bump=True)
    assert refused.value.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    for guards, error in ((None, ErrorCode.INVALID_TXN_STATE), ({cluster.topic: guard}, ErrorCode.NONE)):
        [result] = manager.append_records(1, 1_000, 1, [(cluster.topic, records(0))], guards=guards)
        assert result.error_code is error
