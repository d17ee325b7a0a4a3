"""WriteTxnMarkers (api key 27): the transaction coordinator has brokers write the markers that end transactions.

Mirrors WriteTxnMarkersRequest and WriteTxnMarkersResponse; KIP-98, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class WritableTxnMarkerTopic(Struct):
    """One element of topics."""

    name: str = field(String, entity="topicName")
    partition_indexes: list[int] = field(Array(Int32))


@struct
class WritableTxnMarker(Struct):
    """One element of markers."""

    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    transaction_result: bool = field(Bool)
    topics: list[WritableTxnMarkerTopic] = field(Array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(Int32)
    transaction_version: int = field(Int8, versions="2+", ignorable=True)


@message(api_key=ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    """The request: the transaction coordinator has brokers write the markers that end transactions."""

    markers: list[WritableTxnMarker] = field(Array(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult(Struct):
    """One element of partitions."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class WritableTxnMarkerTopicResult(Struct):
    """One element of topics."""

    name: str = field(String, entity="topicName")
    partitions: list[WritableTxnMarkerPartitionResult] = field(Array(WritableTxnMarkerPartitionResult))


@struct
class WritableTxnMarkerResult(Struct):
    """One element of markers."""

    producer_id: int = field(Int64, entity="producerId")
    topics: list[WritableTxnMarkerTopicResult] = field(Array(WritableTxnMarkerTopicResult))


@message(api_key=ApiKey.WRITE_TXN_MARKERS, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    """What the broker answers to WriteTxnMarkersRequest."""

    markers: list[WritableTxnMarkerResult] = field(Array(WritableTxnMarkerResult))
