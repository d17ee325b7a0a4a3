"""The producers that requests name: by their fields, markers, transactions and batches."""

from __future__ import annotations

from typing import Any

import pytest

from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from protocol_specs.messages.describe_transactions import DescribeTransactionsRequest
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.list_transactions import ListTransactionsRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.messages.txn_offset_commit import TxnOffsetCommitRequest
from protocol_specs.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest
from protocol_specs.named_producers import NamedPartition, producers_of
from protocol_specs.records.batch_builder import RecordBatchBuilder

ORDERS_ID = b"o" * 16
PRODUCER: dict[str, Any] = {"transactional_id": "t", "producer_id": 7, "producer_epoch": 3}


def batch(producer_id: int, base_sequence: int) -> bytes:
    builder = RecordBatchBuilder(
        producer_id=producer_id, producer_epoch=2, base_sequence=base_sequence, is_transactional=True
    )
    builder.append(1_767_225_600_000, None, b"v")
    return builder.build()


def produce(name: str = "orders", topic_id: bytes = bytes(16)) -> ProduceRequest:
    partitions = [
        PartitionProduceData(index=0, records=batch(7, 5)),
        PartitionProduceData(index=1, records=batch(7, 0) + batch(8, 1)),
        PartitionProduceData(index=2, records=b"\xff" * 70),
        PartitionProduceData(index=3, records=None),
    ]
    topics = [TopicProduceData(name=name, topic_id=topic_id, partition_data=partitions)]
    return ProduceRequest(transactional_id="t", acks=-1, timeout_ms=1, topic_data=topics)


@pytest.mark.parametrize(
    ("request_", "producers"),
    [
        (InitProducerIdRequest(**PRODUCER, transaction_timeout_ms=1), [("t", 7, 3, None)]),
        (AddOffsetsToTxnRequest(**PRODUCER, group_id="g"), [("t", 7, 3, None)]),
        (EndTxnRequest(**PRODUCER, committed=True), [("t", 7, 3, None)]),
        (TxnOffsetCommitRequest(**PRODUCER, group_id="g", topics=[]), [("t", 7, 3, None)]),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="t", v3_and_below_producer_id=7, v3_and_below_producer_epoch=3
            ),
            [("t", 7, 3, None)],
        ),
        (
            AddPartitionsToTxnRequest(
                transactions=[
                    AddPartitionsToTxnTransaction(**PRODUCER, topics=[]),
                    AddPartitionsToTxnTransaction(transactional_id="u", producer_id=8, producer_epoch=0, topics=[]),
                ]
            ),
            [("t", 7, 3, None), ("u", 8, 0, None)],
        ),
        (
            WriteTxnMarkersRequest(
                markers=[
                    WritableTxnMarker(
                        producer_id=7, producer_epoch=3, transaction_result=True, topics=[], coordinator_epoch=0
                    )
                ]
            ),
            [(None, 7, 3, None)],
        ),
        (DescribeTransactionsRequest(transactional_ids=["t", "u"]), [("t", *3 * [None]), ("u", *3 * [None])]),
        (ListTransactionsRequest(state_filters=[], producer_id_filters=[7]), [(None, 7, None, None)]),
        (FindCoordinatorRequest(key="t", key_type=1), [("t", *3 * [None])]),
        (FindCoordinatorRequest(coordinator_keys=["t"], key_type=1), [("t", *3 * [None])]),
        (FindCoordinatorRequest(key="g"), []),
        (FetchRequest(), []),
        (None, []),
        (produce(), [("t", 7, 2, 5), ("t", 7, 2, 0), ("t", 8, 2, 1), ("t", *3 * [None])]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_producers_of_a_request(request_: Any, producers: list[tuple[Any, ...]]) -> None:
    assert producers_of(request_) == producers


@pytest.mark.parametrize("request_", [produce(), produce("", ORDERS_ID)], ids=["by name", "by id"])
def test_one_partition_of_a_produce(request_: ProduceRequest) -> None:
    assert producers_of(request_, NamedPartition("orders", ORDERS_ID, 1)) == [("t", 7, 2, 0), ("t", 8, 2, 1)]
    assert producers_of(request_, NamedPartition("orders", ORDERS_ID, 2)) == [("t", None, None, None)]
    assert producers_of(request_, NamedPartition("payments", None, 1)) == []
