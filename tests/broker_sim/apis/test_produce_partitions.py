"""The fast path of a Produce to one partition: it takes plain batches, and its response equals the message's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.apis import produce
from broker_sim.apis.produce import EXAMPLES_LOWEST, success_response
from broker_sim.apis.produce_validation import is_plain_batch
from broker_sim.log.append_results import PartitionAppend
from broker_sim.topic_partition import TopicPartition
from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol_specs.records.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    import pytest

NUMBER = st.integers(-(2**63), 2**63 - 1)


@given(
    version=st.integers(EXAMPLES_LOWEST, 13),
    topic=st.text(alphabet="ab.-_", min_size=1, max_size=249),
    topic_id=st.binary(min_size=16, max_size=16),
    partition=st.integers(0, 2**31 - 1),
    numbers=st.tuples(NUMBER, NUMBER, NUMBER),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
)
def test_the_frame_is_the_one_of_the_message(
    version: int,
    topic: str,
    topic_id: bytes,
    partition: int,
    numbers: tuple[int, int, int],
    correlation_id: int,
) -> None:
    base_offset, log_append_time_ms, log_start_offset = numbers
    response = PartitionProduceResponse(
        index=partition,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    topics = [TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[response])]
    expected = encode_response(ProduceResponse(responses=topics), version, correlation_id=correlation_id)
    requested = TopicProduceData(
        name=topic, topic_id=topic_id, partition_data=[PartitionProduceData(index=partition, records=b"")]
    )
    appended = PartitionAppend(
        TopicPartition(topic, partition),
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    assert success_response(correlation_id, version, requested, appended) == expected


def test_examples_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce, "EXAMPLES_LIMIT", 3)
    monkeypatch.setattr(produce, "_examples", {})
    for partition in range(10):
        topic = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=partition, records=b"")])
        success_response(7, 9, topic, PartitionAppend(TopicPartition("orders", partition), base_offset=0))
        assert len(produce._examples) <= 3


def batch() -> bytes:
    builder = RecordBatchBuilder()
    builder.append(1_767_225_600_000, None, b"value")
    return builder.build()


def context() -> Any:
    """A broker that hosts partition 0 of topic `orders`."""
    topics = {"orders": SimpleNamespace(name="orders")}
    broker = SimpleNamespace(
        metadata_cache=SimpleNamespace(image=SimpleNamespace(topics=topics)),
        replica_manager=SimpleNamespace(partitions={("orders", 0): "orders-0"}),
    )
    return SimpleNamespace(broker=broker, api_version=9)


def request(records: bytes | None, *, topic: str = "orders", index: int = 0, acks: int = -1) -> ProduceRequest:
    partition = PartitionProduceData(index=index, records=records)
    return ProduceRequest(acks=acks, topic_data=[TopicProduceData(name=topic, partition_data=[partition])])


@given(at=st.integers(0, 68), octet=st.integers(0, 255), more=st.binary(max_size=70), size=st.integers(0, 200))
def test_the_fast_path_takes_exactly_the_plain_batches(at: int, octet: int, more: bytes, size: int) -> None:
    changed = bytearray(batch())
    changed[at] = octet
    records = (bytes(changed) + more)[:size]
    assert (produce.only_partition(request(records), context()) is not None) == is_plain_batch(records)


def test_the_fast_path_leaves_other_requests_to_the_slow_path() -> None:
    two_topics = request(batch())
    two_topics.topic_data *= 2
    two_partitions = request(batch())
    two_partitions.topic_data[0].partition_data *= 2
    assert produce.only_partition(request(batch()), context()) == ("orders-0", batch())
    for other in (
        two_topics,
        two_partitions,
        request(None),
        request(batch(), topic="unknown"),
        request(batch(), index=1),
        request(batch(), index=-1),
        request(batch(), acks=2),
    ):
        assert produce.only_partition(other, context()) is None
