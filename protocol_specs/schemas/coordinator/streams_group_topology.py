"""StreamsGroupTopology: the topology of a streams group.

Record type 23 of __consumer_offsets.

Mirrors StreamsGroupTopologyKey and StreamsGroupTopologyValue; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=23, versions="0")
class StreamsGroupTopologyKey(Message):
    """The key: the topology of a streams group."""

    group_id: str = field(String)


@struct
class TopicConfig(Struct):
    """One configuration of an internal topic."""

    key: str = field(String)
    value: str = field(String)


@struct
class TopicInfo(Struct):
    """An internal topic: its partition count, replication factor and configuration."""

    name: str = field(String)
    partitions: int = field(Int32)
    replication_factor: int = field(Int16)
    topic_configs: list[TopicConfig] = field(Array(TopicConfig))


@struct
class CopartitionGroup(Struct):
    """Topics of a subtopology that must have equal partition counts."""

    source_topics: list[int] = field(Array(Int16))
    source_topic_regex: list[int] = field(Array(Int16))
    repartition_source_topics: list[int] = field(Array(Int16))


@struct
class Subtopology(Struct):
    """One subtopology with its source and internal topics."""

    subtopology_id: str = field(String)
    source_topics: list[str] = field(Array(String))
    source_topic_regex: list[str] = field(Array(String))
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_sink_topics: list[str] = field(Array(String))
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


@message(kind=Kind.COORDINATOR_VALUE, record_type=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue(Message):
    """The value: the topology of a streams group."""

    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))
