"""Fetched share partitions: acquired records, gaps, corrupt batches, errors of partitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from broker_client.consumer_errors import RecordDeserializationError
from broker_client.core.consumer.deserializers import Deserializers
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.core.groups.callback_runner import run_here
from broker_client.core.metrics.fetch_metrics import ResponseMetrics, ShareFetchMetrics
from broker_client.core.metrics.registry import Metrics
from broker_client.core.metrics.stats import MetricConfig
from broker_client.core.share.share_fetch_buffer import DeliveryFailed, FetchedSharePartition, ShareFetchBuffer
from broker_client.errors import IllegalState, ProducerError, TopicAuthorizationFailed
from broker_client.records import TopicPartition
from broker_client.share_groups import AcknowledgeType, TopicIdPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_fetch import AcquiredRecords, PartitionData
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)

if TYPE_CHECKING:
    from broker_client.core.share.in_flight_records import InFlightRecords

PARTITION = TopicIdPartition("t", 0, b"i" * 16)
OTHER = TopicIdPartition("t", 1, b"i" * 16)
POISON = b"poison"


class Buffer:
    """A buffer, and how often it requested metadata."""

    def __init__(self, **options: Any) -> None:
        self.updates = 0
        self.registry = Metrics(config=MetricConfig(), now_ms=lambda: 0, tags={})
        self.metrics = ShareFetchMetrics(self.registry)
        self.buffer = ShareFetchBuffer(FetchOptions(**options), Deserializers(value=value_of), self.request_metadata)

    def collect(self) -> InFlightRecords:
        """Collect on the thread of the test."""
        outcome: list[Any] = []
        Deferred.fromCoroutine(self.buffer.collect(run_here)).addBoth(outcome.append)
        [found] = outcome
        if isinstance(found, Failure):
            found.raiseException()
        return cast("InFlightRecords", found)

    def request_metadata(self) -> None:
        self.updates += 1

    def add(
        self,
        *batches: bytes,
        acquired: tuple[tuple[int, int, int], ...] = (),
        partition: TopicIdPartition = PARTITION,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        data = PartitionData(
            error_code=error,
            records=b"".join(batches),
            acquired_records=[
                AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
                for first, last, count in acquired
            ],
        )
        response = ResponseMetrics(self.metrics, [TopicPartition(partition.topic, partition.partition)])
        self.buffer.add(FetchedSharePartition(1, partition, data, 30_000, response))


def value_of(data: bytes) -> str:
    if data == POISON:
        raise ValueError("poison")
    return data.decode()


def batch(offset: int, count: int, *values: bytes) -> bytes:
    builder = RecordBatchBuilder(base_offset=offset, partition_leader_epoch=4)
    for value in values or (b"v",) * count:
        builder.append(1_000, None, value)
    return builder.build()


def marker(offset: int) -> bytes:
    return end_transaction_marker_batch(
        EndTransactionMarker(control_type=ControlRecordType.COMMIT, coordinator_epoch=0),
        producer_id=1,
        producer_epoch=0,
        timestamp_ms=1_000,
        base_offset=offset,
        partition_leader_epoch=5,
    )


def broken(offset: int, count: int) -> bytes:
    data = bytearray(batch(offset, count))
    data[-1] ^= 1
    return bytes(data)


def offsets_of(delivery: InFlightRecords) -> list[int]:
    return [record.offset for record in delivery.records]


def acknowledged(delivery: InFlightRecords) -> dict[int, AcknowledgeType | None]:
    taken = delivery.take_acknowledged()
    return dict(taken[PARTITION].acknowledgements.types) if taken else {}


def test_acquired_records_are_delivered_with_their_counts() -> None:
    made = Buffer()
    made.add(batch(0, 5), acquired=((1, 2, 1), (4, 4, 3)))
    delivery = made.collect()
    assert [(one.offset, one.delivery_count, one.leader_epoch) for one in delivery.records] == [
        (1, 1, 4),
        (2, 1, 4),
        (4, 3, 4),
    ]
    assert delivery.lock_timeout_ms == 30_000
    assert acknowledged(delivery) == {}
    assert made.collect().is_empty
    assert made.buffer.is_empty


def test_acquired_offsets_without_records_are_gaps() -> None:
    made = Buffer()
    made.add(batch(2, 1), marker(3), batch(6, 1), acquired=((1, 8, 1),))
    delivery = made.collect()
    assert offsets_of(delivery) == [2, 6]
    assert acknowledged(delivery) == dict.fromkeys((1, 3, 4, 5, 7, 8))


def test_gaps_alone_are_no_delivery() -> None:
    made = Buffer()
    made.add(marker(3), acquired=((3, 3, 1),))
    delivery = made.collect()
    assert delivery.is_empty
    assert acknowledged(delivery) == {3: None}


def test_whole_batches_are_delivered_beyond_max_poll_records() -> None:
    made = Buffer(max_poll_records=3)
    made.add(batch(0, 2), batch(2, 4), batch(6, 1), acquired=((0, 6, 1),))
    assert offsets_of(made.collect()) == [0, 1, 2, 3, 4, 5]
    assert offsets_of(made.collect()) == [6]


def test_a_corrupt_batch_is_rejected_and_the_rest_is_delivered() -> None:
    made = Buffer()
    made.add(batch(0, 1), broken(1, 3), batch(4, 1), acquired=((0, 1, 1), (3, 4, 1)))
    assert offsets_of(made.collect()) == [0]
    with pytest.raises(DeliveryFailed) as raised:
        made.collect()
    reason, delivery = raised.value.reason, raised.value.delivery
    assert reason.offsets == (1, 3)
    assert str(reason).startswith("a batch of t-0 with the acquired offset 1 is invalid, and rejected: ")
    with pytest.raises(IllegalState):
        delivery.acknowledge("t", 0, 1, AcknowledgeType.RELEASE)
    delivery.acknowledge("t", 0, 1, AcknowledgeType.RELEASE, is_unreadable=True)
    assert acknowledged(delivery) == {1: AcknowledgeType.RELEASE, 3: AcknowledgeType.REJECT}
    assert offsets_of(made.collect()) == [4]


def test_a_record_that_cannot_be_deserialized_is_released_and_the_rest_of_its_batch_is_delivered() -> None:
    made = Buffer(max_poll_records=1)
    made.add(batch(0, 5, b"a", b"b", POISON, b"c", POISON), batch(5, 1), acquired=((0, 5, 2),))
    assert [(one.offset, one.value) for one in made.collect().records] == [(0, "a"), (1, "b")]
    with pytest.raises(DeliveryFailed) as raised:
        made.collect()
    reason, delivery = raised.value.reason, raised.value.delivery
    assert isinstance(reason, RecordDeserializationError)
    assert (reason.origin, reason.offset, reason.record.value, reason.record.delivery_count) == ("value", 2, POISON, 2)
    with pytest.raises(IllegalState):
        delivery.acknowledge("t", 0, 3, AcknowledgeType.ACCEPT, is_unreadable=True)
    assert acknowledged(delivery) == {2: AcknowledgeType.RELEASE}
    with pytest.raises(IllegalState):
        delivery.acknowledge("t", 0, 2, AcknowledgeType.ACCEPT, is_unreadable=True)
    assert offsets_of(made.collect()) == [3]
    with pytest.raises(DeliveryFailed) as raised:
        made.collect()
    raised.value.delivery.acknowledge("t", 0, 4, AcknowledgeType.REJECT, is_unreadable=True)
    assert acknowledged(raised.value.delivery) == {4: AcknowledgeType.REJECT}
    assert offsets_of(made.collect()) == [5]


def test_gaps_before_a_record_that_cannot_be_deserialized_go_first() -> None:
    made = Buffer()
    made.add(batch(1, 1, POISON), acquired=((0, 2, 1),))
    delivery = made.collect()
    assert delivery.is_empty
    assert acknowledged(delivery) == {0: None}
    with pytest.raises(DeliveryFailed) as raised:
        made.collect()
    assert acknowledged(raised.value.delivery) == {1: AcknowledgeType.RELEASE}
    assert acknowledged(made.collect()) == {2: None}


def test_a_record_that_cannot_be_deserialized_ends_a_delivery_of_another_partition_and_is_released_with_it() -> None:
    made = Buffer()
    made.add(batch(0, 1), acquired=((0, 0, 1),), partition=OTHER)
    made.add(batch(0, 2, POISON, b"a"), acquired=((0, 1, 1),))
    delivery = made.collect()
    assert [(one.partition, one.offset) for one in delivery.records] == [(1, 0)]
    delivery.acknowledge("t", 0, 0, AcknowledgeType.REJECT, is_unreadable=True)
    assert acknowledged(delivery) == {0: AcknowledgeType.REJECT}
    assert offsets_of(made.collect()) == [1]


def test_checksums_are_not_verified_without_check_crcs() -> None:
    made = Buffer(check_crcs=False)
    made.add(batch(0, 1)[:17] + b"\0\0\0\0" + batch(0, 1)[21:], acquired=((0, 0, 1),))
    assert offsets_of(made.collect()) == [0]


def test_records_that_were_delivered_go_before_the_error_of_another_partition() -> None:
    made = Buffer()
    made.add(batch(0, 1), acquired=((0, 0, 1),))
    made.add(partition=OTHER, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert offsets_of(made.collect()) == [0]
    with pytest.raises(TopicAuthorizationFailed):
        made.collect()
    assert made.collect().is_empty


@pytest.mark.parametrize(
    ("code", "updates"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1),
        (ErrorCode.FENCED_LEADER_EPOCH, 1),
        (ErrorCode.KAFKA_STORAGE_ERROR, 1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1),
        (ErrorCode.UNKNOWN_TOPIC_ID, 1),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, 0),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 0),
    ],
)
def test_some_errors_request_metadata_and_none_of_these_reaches_the_application(code: ErrorCode, updates: int) -> None:
    made = Buffer()
    made.add(error=code)
    assert made.collect().is_empty
    assert made.updates == updates
    assert made.buffer.is_empty


@pytest.mark.parametrize(
    ("code", "kind"), [(ErrorCode.CORRUPT_MESSAGE, ProducerError), (ErrorCode.OFFSET_OUT_OF_RANGE, IllegalState)]
)
def test_other_errors_are_raised_once(code: ErrorCode, kind: type[ProducerError]) -> None:
    made = Buffer()
    made.add(error=code)
    with pytest.raises(kind, match="ShareFetch of t-0"):
        made.collect()
    assert made.collect().is_empty


@pytest.mark.parametrize("count", [3, 50])
def test_the_records_that_were_delivered_are_measured_when_a_partition_was_read(count: int) -> None:
    made = Buffer(max_poll_records=1)
    made.add(batch(0, count), batch(count, 2, b"long value", POISON), acquired=((1, 1, 1), (count, count + 1, 1)))
    assert offsets_of(made.collect()) == [1]
    assert made.registry.read()["records-consumed-total"] == 0
    assert offsets_of(made.collect()) == [count]
    with pytest.raises(DeliveryFailed):
        made.collect()
    assert made.collect().is_empty
    read = made.registry.read()
    assert read["records-consumed-total"] == read["records-per-request-max"] == 2
    # A record has 7 bytes besides the value: length, attributes, deltas of time and offset, key, value and headers.
    assert read["bytes-consumed-total"] == (7 + 1) + (7 + 10)


def test_a_response_with_a_refused_partition_is_not_measured() -> None:
    made = Buffer()
    made.add(error=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert made.collect().is_empty
    assert math.isnan(made.registry.read()["fetch-size-avg"])
