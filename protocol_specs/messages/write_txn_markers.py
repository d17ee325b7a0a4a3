"""WriteTxnMarkers (api key 27): the transaction coordinator sends the markers that end transactions to brokers.

Mirrors WriteTxnMarkersRequest and WriteTxnMarkersResponse; KIP-98, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class WritableTxnMarkerTopic(Struct):
    """The partitions of one topic that receive the marker."""

    name: str = field(String, entity="topicName")
    partition_indexes: list[int] = field(Array(Int32))


@struct
class WritableTxnMarker(Struct):
    """A marker that commits or aborts the transaction of one producer."""

    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    transaction_result: bool = field(Bool)
    topics: list[WritableTxnMarkerTopic] = field(Array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(Int32)
    transaction_version: int = field(Int8, versions="2+", ignorable=True)


@message(api_key=ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    """The request: the transaction coordinator sends the markers that end transactions to brokers."""

    markers: list[WritableTxnMarker] = field(Array(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class WritableTxnMarkerTopicResult(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[WritableTxnMarkerPartitionResult] = field(Array(WritableTxnMarkerPartitionResult))


@struct
class WritableTxnMarkerResult(Struct):
    """The results of one marker."""

    producer_id: int = field(Int64, entity="producerId")
    topics: list[WritableTxnMarkerTopicResult] = field(Array(WritableTxnMarkerTopicResult))


@message(api_key=ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    """The response: one result per marker and partition."""

    markers: list[WritableTxnMarkerResult] = field(Array(WritableTxnMarkerResult))
