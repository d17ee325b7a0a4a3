"""The fast path of a Produce to one partition: its effects and its response equal those of the slow path."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.apis import produce
from broker_sim.apis.produce import EXAMPLES_LOWEST, success_response
from broker_sim.apis.produce_validation import is_plain_batch
from broker_sim.control.events import ProduceCompleted
from broker_sim.log.append_results import PartitionAppend
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import RecordBatchBuilder
from tests.broker_sim.apis.transactional_producer import TRANSACTIONAL_ID, TransactionalProducer, transactional_bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

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
    assert produce.only_partition(request(batch()), context()) == ("orders-0", batch(), None)
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


def transactional(api: ApiBench, producer: TransactionalProducer, version: int) -> list[Any]:
    """Return the responses to Produce requests of one partition: valid and invalid ones, some of a transaction."""

    def sent(sequence: int, *, transactional_id: str | None = TRANSACTIONAL_ID, acks: int = -1, **other: Any) -> Any:
        options = {**producer.producer, "is_transactional": True, **other}
        builder = RecordBatchBuilder(base_sequence=sequence, **options)
        builder.append(1_767_225_600_000, None, b"value")
        data = [PartitionProduceData(index=0, records=builder.build())]
        topic = TopicProduceData(name="orders", partition_data=data)
        produced = ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=1500, topic_data=[topic])
        return api.call(produced, version, client_id="producer", broker_id=api.cluster.leader_of("orders", 0))

    epoch = producer.producer["producer_epoch"]
    return [
        sent(0),  # not added, unless the version adds it
        producer.send(0),
        sent(1),
        sent(1),  # a retry
        sent(7),
        sent(2, producer_epoch=epoch - 1),
        sent(2, producer_epoch=epoch + 1),
        sent(2, producer_id=9),
        sent(-1, producer_id=-1, producer_epoch=-1),
        sent(2, is_transactional=False),
        sent(2, is_control=True),
        sent(2, codec=CompressionCodec.GZIP),
        sent(3, codec=CompressionCodec.ZSTD),
        sent(4, transactional_id=None),
        sent(4, acks=2),
        sent(4, acks=1),
        producer.end(),
        sent(5),
    ]


@pytest.mark.parametrize(
    ("version", "error"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_a_batch_that_the_verification_refuses_is_in_the_journal(
    bench: Callable[..., ApiBench], version: int, error: ErrorCode
) -> None:
    api = transactional_bench(bench)
    producer = TransactionalProducer(api, "producer")
    producer.init()
    builder = RecordBatchBuilder(base_sequence=0, is_transactional=True, **producer.producer)
    builder.append(1_767_225_600_000, None, b"value")
    topic = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=builder.build())])
    sent = ProduceRequest(transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=1500, topic_data=[topic])
    response = api.call(sent, version, client_id="producer", broker_id=1)
    assert response.responses[0].partition_responses[0].error_code is error
    completed = api.cluster.journal.events_of(ProduceCompleted)
    assert [(each.topic, each.error_code, each.base_offset) for each in completed][-1:] == [("orders", error, -1)]


@pytest.mark.parametrize("link", ["open", "slow"])
@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("version", [9, 11, 12])
def test_batches_of_a_transaction_have_the_effects_of_the_slow_path(
    bench: Callable[..., ApiBench], monkeypatch: pytest.MonkeyPatch, version: int, brokers: int, link: str
) -> None:
    def observed() -> Any:
        api = transactional_bench(bench, brokers=brokers)
        if link == "slow":
            for source in api.cluster.brokers:
                for target in api.cluster.brokers:
                    api.cluster.links.link(source, target).set_delay(5)
        producer = TransactionalProducer(api, "producer")
        producer.init()
        responses = transactional(api, producer, version)
        api.reactor.run_for(ms=2000)
        log = api.cluster.log_of(api.cluster.leader_of("orders", 0), "orders", 0)
        return responses, [bytes(batch.data) for batch in log.batches()], log.high_watermark, api.cluster.journal.events

    fast = observed()
    assert len({repr(response) for response in fast[0]}) > 5
    monkeypatch.setattr(produce, "only_partition", lambda *_: None)
    slow = observed()
    assert fast[:3] == slow[:3]
    assert list(map(repr, fast[3])) == list(map(repr, slow[3]))
