"""The partitions that messages name: by name, by topic id, as lists of numbers, in requests and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.messages.alter_partition import AlterPartitionRequest
from protocol_specs.messages.alter_partition import PartitionData as AlteredPartition
from protocol_specs.messages.alter_partition import TopicData as AlteredTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol_specs.named_partitions import partitions_in

if TYPE_CHECKING:
    from protocol_specs.message import Message

ORDERS = b"o" * 16


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (
            FetchRequest(topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition=2)])]),
            [("orders", 2)],
        ),
        (
            FetchRequest(topics=[FetchTopic(topic_id=ORDERS, partitions=[FetchPartition(partition=2)])]),
            [("orders", 2)],
        ),
        (FetchRequest(topics=[FetchTopic(topic_id=b"x" * 16, partitions=[FetchPartition(partition=2)])]), []),
        (
            AlterPartitionRequest(
                broker_id=1,
                topics=[AlteredTopic(topic_id=ORDERS, partitions=[AlteredPartition(partition_index=4)])],
            ),
            [("orders", 4)],
        ),
        (
            WriteTxnMarkersRequest(
                markers=[
                    WritableTxnMarker(
                        producer_id=1,
                        producer_epoch=0,
                        transaction_result=True,
                        coordinator_epoch=0,
                        topics=[WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 3])],
                    )
                ]
            ),
            [("orders", 0), ("orders", 3)],
        ),
        (MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), [("orders", None)]),
        (MetadataRequest(topics=None), []),
        (DeleteTopicsRequest(topic_names=["a", "b"]), [("a", None), ("b", None)]),
        (
            CreateTopicsRequest(topics=[CreatableTopic(name="a", num_partitions=3, replication_factor=1)]),
            [("a", None)],
        ),
        (HeartbeatRequest(group_id="g"), []),
    ],
)
def test_partitions_are_found(message: Message, named: list[tuple[str, int | None]]) -> None:
    assert list(partitions_in(message, {ORDERS: "orders"}.get)) == named


def test_no_message_names_nothing() -> None:
    assert list(partitions_in(None, {}.get)) == []
