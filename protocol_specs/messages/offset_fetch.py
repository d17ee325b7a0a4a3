"""OffsetFetch (api key 9): fetch the committed offsets of groups.

Mirrors OffsetFetchRequest and OffsetFetchResponse; KIP-88, KIP-320, KIP-447, KIP-709, KIP-848.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class OffsetFetchRequestTopic(Struct):
    """The requested partitions of one topic, up to v7."""

    name: str = field(String, versions="0-7", entity="topicName")
    partition_indexes: list[int] = field(Array(Int32), versions="0-7")


@struct
class OffsetFetchRequestTopics(Struct):
    """The requested partitions of one topic."""

    name: str = field(String, versions="8-9", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    partition_indexes: list[int] = field(Array(Int32), versions="8+")


@struct
class OffsetFetchRequestGroup(Struct):
    """One group with its requested topics; null requests all (KIP-709)."""

    group_id: str = field(String, versions="8+", entity="groupId")
    member_id: str | None = field(String, versions="9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = field(Int32, versions="9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field(Array(OffsetFetchRequestTopics), versions="8+", nullable="8+")


@message(api_key=ApiKey.OFFSET_FETCH, versions="0-10", flexible="6+")
class OffsetFetchRequest(Message):
    """The request: fetch the committed offsets of groups."""

    group_id: str = field(String, versions="0-7", entity="groupId")
    topics: list[OffsetFetchRequestTopic] | None = field(Array(OffsetFetchRequestTopic), versions="0-7", nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field(Array(OffsetFetchRequestGroup), versions="8+")
    require_stable: bool = field(Bool, versions="7+")


@struct
class OffsetFetchResponsePartition(Struct):
    """The committed offset of one partition, or an error, up to v7."""

    partition_index: int = field(Int32, versions="0-7")
    committed_offset: int = field(Int64, versions="0-7")
    committed_leader_epoch: int = field(Int32, versions="5-7", default=-1, ignorable=True)
    metadata: str | None = field(String, versions="0-7", nullable="0-7")
    error_code: int = field(Int16, versions="0-7")


@struct
class OffsetFetchResponseTopic(Struct):
    """The committed offsets of one topic, up to v7."""

    name: str = field(String, versions="0-7", entity="topicName")
    partitions: list[OffsetFetchResponsePartition] = field(Array(OffsetFetchResponsePartition), versions="0-7")


@struct
class OffsetFetchResponsePartitions(Struct):
    """The committed offset of one partition, or an error."""

    partition_index: int = field(Int32, versions="8+")
    committed_offset: int = field(Int64, versions="8+")
    committed_leader_epoch: int = field(Int32, versions="8+", default=-1, ignorable=True)
    metadata: str | None = field(String, versions="8+", nullable="8+")
    error_code: int = field(Int16, versions="8+")


@struct
class OffsetFetchResponseTopics(Struct):
    """The committed offsets of one topic."""

    name: str = field(String, versions="8-9", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field(Array(OffsetFetchResponsePartitions), versions="8+")


@struct
class OffsetFetchResponseGroup(Struct):
    """The committed offsets of one group, or an error."""

    group_id: str = field(String, versions="8+", entity="groupId")
    topics: list[OffsetFetchResponseTopics] = field(Array(OffsetFetchResponseTopics), versions="8+")
    error_code: int = field(Int16, versions="8+")


@message(api_key=ApiKey.OFFSET_FETCH, versions="0-10", flexible="6+")
class OffsetFetchResponse(Message):
    """The response: the committed offset or an error per partition; by group from v8 on."""

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field(Array(OffsetFetchResponseTopic), versions="0-7")
    error_code: int = field(Int16, versions="2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field(Array(OffsetFetchResponseGroup), versions="8+")
