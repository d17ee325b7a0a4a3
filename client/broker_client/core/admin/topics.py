"""Topics: create, delete, list, describe, add partitions. Mirrors KafkaAdminClient's calls of these names.

CreateTopics, DeleteTopics and CreatePartitions go to the controller, Metadata and DescribeTopicPartitions to any node.
A quota's refusal (THROTTLING_QUOTA_EXCEEDED, KIP-599) is requested again, as Java does by default. Topic ids are
Kafka's text of 22 characters; None from brokers before 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_client.config.value_parsing import config_text
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import ANY, CONTROLLER
from broker_client.core.network.old_requests import metadata_request_at
from broker_client.errors import ProducerError, UnsupportedVersion, error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.uuids import ZERO_UUID, from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.config.value_parsing import ConfigText
    from protocol_specs.messages.metadata import MetadataResponse, MetadataResponseTopic

__all__ = [
    "CreatedTopic",
    "NewPartitions",
    "NewTopic",
    "TopicCalls",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionInfo",
]

BROKER_DEFAULT: Final = -1
RETRIED: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
_BROKER_DEFAULTS_FROM: Final = 4
_DELETES_BY_ID_FROM: Final = 6
_DESCRIBES_BY_ID_FROM: Final = 12


@dataclass(slots=True, kw_only=True, frozen=True)
class NewTopic:
    """A topic to create; -1 leaves partitions or replication factor to the broker's default. Mirrors NewTopic.

    `assignments` (partition -> broker ids, the preferred leader first) takes the place of both numbers.
    """

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, ConfigText] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True, frozen=True)
class NewPartitions:
    """How many partitions a topic shall have in all, and where the new ones go. Mirrors NewPartitions.

    `assignments` has the broker ids of each new partition in order, the preferred leader first; empty: Kafka chooses.
    """

    total_count: int
    assignments: Sequence[Sequence[int]] = ()


@dataclass(slots=True, kw_only=True, frozen=True)
class CreatedTopic:
    """A topic that was created, or would be with validate_only. Mirrors CreateTopicsResult.TopicMetadataAndConfig.

    Numbers are -1, and `configs` is None, where the broker does not report them (before 2.4, or without authorization).
    """

    name: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    configs: Mapping[str, str | None] | None


@dataclass(slots=True, kw_only=True, frozen=True)
class TopicListing:
    """A topic that exists. Mirrors TopicListing."""

    name: str
    topic_id: str | None
    internal: bool


@dataclass(slots=True, kw_only=True, frozen=True)
class TopicPartitionInfo:
    """A partition as a broker knows it. Mirrors TopicPartitionInfo; KIP-966.

    `leader` is None while there is none, `leader_epoch` -1 from brokers before 2.1. The eligible leader replicas and
    the last known ones are None from brokers before 3.8.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None


@dataclass(slots=True, kw_only=True, frozen=True)
class TopicDescription:
    """A topic and its partitions in the order of their numbers. Mirrors TopicDescription."""

    name: str
    topic_id: str | None
    internal: bool
    partitions: tuple[TopicPartitionInfo, ...]


class TopicCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic]:
        """Create all of `topics`, or only try; raises ItemsFailed by topic name."""
        by_name = {topic.name: topic for topic in topics}
        if len(by_name) < len(topics):
            names = [topic.name for topic in topics]
            twice = next(name for name in names if names.count(name) > 1)
            raise ProducerError(f"topic {twice!r} is given twice: a request can create it once")

        creatable = {topic.name: _creatable(topic) for topic in topics}

        def build(version: int, names: list[str], timeout_ms: int) -> CreateTopicsRequest:
            _refuse_defaults(version, [by_name[name] for name in names])
            requested = [creatable[name] for name in names]
            return CreateTopicsRequest(topics=requested, timeout_ms=timeout_ms, validate_only=validate_only)

        def take(response: Any, _: list[str], outcomes: Outcomes[str, CreatedTopic]) -> None:
            for result in response.topics:
                outcomes.take(
                    result.name,
                    result.error_code,
                    result.error_message,
                    _created(result),
                    retried=RETRIED,
                    topic=result.name,
                )

        call = ItemCall(kind=CreateTopicsRequest, route=CONTROLLER, build=build, take=take)
        return await self._calls.settle(list(by_name), call)

    async def create_partitions(self, partitions: Mapping[str, NewPartitions], *, validate_only: bool = False) -> None:
        """Raise topics' partition counts, or only try; raises ItemsFailed by topic name."""

        def build(version: int, names: list[str], timeout_ms: int) -> CreatePartitionsRequest:
            del version
            return CreatePartitionsRequest(
                topics=[_enlarged(name, partitions[name]) for name in names],
                timeout_ms=timeout_ms,
                validate_only=validate_only,
            )

        def take(response: Any, _: list[str], outcomes: Outcomes[str, None]) -> None:
            for result in response.results:
                outcomes.take(result.name, result.error_code, result.error_message, None, retried=RETRIED)

        call = ItemCall(kind=CreatePartitionsRequest, route=CONTROLLER, build=build, take=take)
        await self._calls.settle(list(partitions), call)

    async def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics by name; raises ItemsFailed by name."""

        def build(version: int, requested: list[str], timeout_ms: int) -> DeleteTopicsRequest:
            if version < _DELETES_BY_ID_FROM:
                return DeleteTopicsRequest(topic_names=requested, timeout_ms=timeout_ms)
            return DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in requested], timeout_ms=timeout_ms
            )

        def take(response: Any, _: list[str], outcomes: Outcomes[str, None]) -> None:
            for result in response.responses:
                outcomes.take(result.name or "", result.error_code, result.error_message, None, retried=RETRIED)

        call = ItemCall(kind=DeleteTopicsRequest, route=CONTROLLER, build=build, take=take)
        await self._calls.settle(list(names), call)

    async def delete_topics_by_id(self, topic_ids: Sequence[str]) -> None:
        """Delete topics by id; raises ItemsFailed by id, UnsupportedVersion before 2.8."""

        def build(version: int, requested: list[str], timeout_ms: int) -> DeleteTopicsRequest:
            if version < _DELETES_BY_ID_FROM:
                raise UnsupportedVersion(
                    f"topics are deleted by id from DeleteTopics v6 (Kafka 2.8) on, the node speaks v{version}"
                )
            states = [DeleteTopicState(topic_id=from_text(topic_id)) for topic_id in requested]
            return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)

        def take(response: Any, _: list[str], outcomes: Outcomes[str, None]) -> None:
            for result in response.responses:
                topic_id = to_text(result.topic_id)
                outcomes.take(topic_id, result.error_code, result.error_message, None, retried=RETRIED)

        call = ItemCall(kind=DeleteTopicsRequest, route=CONTROLLER, build=build, take=take)
        await self._calls.settle(list(topic_ids), call)

    async def list_topics(self, *, list_internal: bool = False) -> dict[str, TopicListing]:
        """All topics that the client may see, by name."""
        response: MetadataResponse = await self._calls.request(
            MetadataRequest, lambda version, _: uncreating(version, None), route=ANY
        )
        listings = {
            topic.name: TopicListing(name=topic.name, topic_id=_id_text(topic.topic_id), internal=topic.is_internal)
            for topic in response.topics
            if topic.name is not None
        }
        return {name: listings[name] for name in sorted(listings) if list_internal or not listings[name].internal}

    async def describe_topics_by_metadata(self, names: Sequence[str]) -> dict[str, TopicDescription]:
        """Topics as Metadata describes them; raises ItemsFailed by name."""

        def build(version: int, requested: list[str], timeout_ms: int) -> MetadataRequest:
            del timeout_ms
            return uncreating(version, [MetadataRequestTopic(name=name) for name in requested])

        def take(response: Any, requested: list[str], outcomes: Outcomes[str, TopicDescription]) -> None:
            for topic in response.topics:
                name = topic.name or ""
                outcomes.take(name, topic.error_code, name, _described(topic, name), topic=name)
            for name in requested:
                # A broker before 0.11 gets a request for all topics, since it would create those that do not exist.
                outcomes.fail(name, error_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name))

        call = ItemCall(kind=MetadataRequest, route=ANY, build=build, take=take)
        return await self._calls.settle(list(names), call)

    async def describe_topics_by_id(self, topic_ids: Sequence[str]) -> dict[str, TopicDescription]:
        """Topics by id, without eligible leader replicas; raises ItemsFailed by id, UnsupportedVersion before 3.1."""

        def build(version: int, requested: list[str], timeout_ms: int) -> MetadataRequest:
            del timeout_ms
            if version < _DESCRIBES_BY_ID_FROM:
                raise UnsupportedVersion(
                    f"topics are described by id from Metadata v12 (Kafka 3.1) on, the node speaks v{version}"
                )
            return uncreating(version, [MetadataRequestTopic(topic_id=from_text(one), name=None) for one in requested])

        def take(response: Any, _: list[str], outcomes: Outcomes[str, TopicDescription]) -> None:
            for topic in response.topics:
                topic_id = to_text(topic.topic_id)
                outcomes.take(topic_id, topic.error_code, topic_id, _described(topic, topic.name or ""))

        call = ItemCall(kind=MetadataRequest, route=ANY, build=build, take=take)
        return await self._calls.settle(list(topic_ids), call)


def uncreating(version: int, topics: list[MetadataRequestTopic] | None) -> MetadataRequest:
    """Request `topics` (None: all) in a way that creates none."""
    return metadata_request_at(version, MetadataRequest(topics=topics, allow_auto_topic_creation=False))


def _refuse_defaults(version: int, topics: Sequence[NewTopic]) -> None:
    """Mirrors CreateTopicsRequest.Builder."""
    if version >= _BROKER_DEFAULTS_FROM:
        return
    for topic in topics:
        if not topic.assignments and BROKER_DEFAULT in (topic.partitions, topic.replication_factor):
            raise UnsupportedVersion(
                f"topic {topic.name!r} leaves partitions or replication_factor to the broker, which chooses from "
                f"CreateTopics v4 (Kafka 2.4) on; the node speaks v{version}: give both"
            )


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if topic.assignments else topic.partitions,
        replication_factor=BROKER_DEFAULT if topic.assignments else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
            for partition, brokers in topic.assignments.items()
        ],
        configs=[
            CreatableTopicConfig(name=name, value=config_text(name, value)) for name, value in topic.configs.items()
        ],
    )


def _enlarged(name: str, new: NewPartitions) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in new.assignments]
    return CreatePartitionsTopic(name=name, count=new.total_count, assignments=assignments or None)


def _created(result: CreatableTopicResult) -> CreatedTopic:
    has_configs = result.configs is not None and not result.topic_config_error_code and result.num_partitions >= 0
    return CreatedTopic(
        name=result.name,
        topic_id=_id_text(result.topic_id),
        partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs={config.name: config.value for config in result.configs or ()} if has_configs else None,
    )


def _described(topic: MetadataResponseTopic, name: str) -> TopicDescription:
    return TopicDescription(
        name=name,
        topic_id=_id_text(topic.topic_id),
        internal=topic.is_internal,
        partitions=tuple(
            TopicPartitionInfo(
                partition=one.partition_index,
                leader=one.leader_id if one.leader_id >= 0 else None,
                leader_epoch=one.leader_epoch,
                replicas=tuple(one.replica_nodes),
                isr=tuple(one.isr_nodes),
                offline_replicas=tuple(one.offline_replicas),
                eligible_leader_replicas=None,
                last_known_elr=None,
            )
            for one in sorted(topic.partitions, key=lambda one: one.partition_index)
        ),
    )


def _id_text(topic_id: bytes) -> str | None:
    return None if topic_id == ZERO_UUID else to_text(topic_id)
