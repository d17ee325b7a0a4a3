"""Validates the creation and deletion of topics and places replicas. Pure functions of an image.

Mirrors ControllerApis.createTopics and deleteTopics with ReplicationControlManager.createTopics. Each topic has its own
result; a whole request is refused only when it is late (`timeout_ms` 0) or would change too much at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_sim.config.config_entries import created_topic_entries
from broker_sim.config.topic_config_validation import validate_topic_overrides
from broker_sim.controller.manual_assignment import Refused, only_active, validate_manual_assignment
from broker_sim.controller.replica_placer import PlacementError, place
from broker_sim.errors import ConfigError
from broker_sim.metadata.metadata_image import PartitionRegistration, TopicImage
from broker_sim.metadata.topic_names import CLUSTER_METADATA_TOPIC_NAME, colliding_name, refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol_specs.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota
    from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest

MAX_RECORDS_PER_OPERATION: Final = 10_000
"""The limit of metadata records per operation: one per topic, partition and configuration."""

_UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."
_UNKNOWN_TOPIC_ID: Final = "This server does not host this topic ID."


_TOO_LARGE: Final = "Unable to perform excessively large batch operation."


class _TooLarge(Exception):
    """More partitions than one operation of the controller can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreation:
    """The response to a CreateTopics, and the new topics (none when it only validates)."""

    response: CreateTopicsResponse
    topics: list[TopicImage]


@dataclass(slots=True, kw_only=True)
class TopicDeletion:
    """The response to a DeleteTopics, and the names of the deleted topics."""

    response: DeleteTopicsResponse
    names: list[str] = field(default_factory=list)


# Creation.


def create_topics(
    request: CreateTopicsRequest,
    *,
    image: MetadataImage,
    config: BrokerConfig,
    random: Random,
    quota: MutationQuota | None = None,
) -> TopicCreation:
    """Serve a CreateTopics. `config` is the controller's; `random` chooses topic ids and the first brokers."""
    counts = Counter(topic.name for topic in request.topics)
    wanted = [
        topic for topic in request.topics if counts[topic.name] == 1 and topic.name != CLUSTER_METADATA_TOPIC_NAME
    ]
    if wanted and request.timeout_ms <= 0:
        return _refuse_all(request, ErrorCode.REQUEST_TIMED_OUT, None)
    if config.behaviour.creation_counts_partitions and _count_partitions(wanted, config) > MAX_RECORDS_PER_OPERATION:
        message = "Excessively large number of partitions per request."
        return _refuse_all(request, ErrorCode.POLICY_VIOLATION, message)
    results: list[CreatableTopicResult] = []
    created: list[TopicImage] = []
    records = 0
    for topic in wanted:
        try:
            made = _create(topic, image, config, random)
            _check_quota(quota, len(made.partitions))
        except Refused as refused:
            results.append(refused_topic(topic.name, refused.error_code, refused.message))
            continue
        except _TooLarge:
            return _refuse_all(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        records += 1 + len(made.partitions) + len(made.configs)
        if records > MAX_RECORDS_PER_OPERATION:
            return _refuse_all(request, ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
        created.append(made)
        results.append(created_topic(made, config))
    duplicates = hash_order(name for name, count in counts.items() if count > 1)
    results += [refused_topic(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name in duplicates]
    if counts[CLUSTER_METADATA_TOPIC_NAME] == 1:
        results.append(_refused_metadata_topic(config))
    return TopicCreation(response=CreateTopicsResponse(topics=results), topics=[] if request.validate_only else created)


def _check_quota(quota: MutationQuota | None, partitions: int) -> None:
    if quota is not None and not quota.accepts(partitions):
        raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)


def _count_partitions(topics: list[CreatableTopic], config: BrokerConfig) -> int:
    return sum(
        len(topic.assignments) or (topic.num_partitions if topic.num_partitions > 0 else config.num_partitions)
        for topic in topics
    )


def _create(topic: CreatableTopic, image: MetadataImage, config: BrokerConfig, random: Random) -> TopicImage:
    """One topic, or the reason against it, looked for in Kafka's order."""
    if topic.name in image.topics:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    collision = colliding_name(topic.name, image.topics)
    reason = refused_name(topic.name)
    if collision is not None:
        reason = f"Topic '{topic.name}' collides with existing topic: {collision}"
    if reason is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    configs = _configs(topic, config)
    if topic.assignments:
        partitions = _assigned_partitions(topic, image)
    else:
        partitions = _placed_partitions(topic, image, config, random)
    return TopicImage(name=topic.name, topic_id=random_topic_id(random), partitions=tuple(partitions), configs=configs)


def _configs(topic: CreatableTopic, config: BrokerConfig) -> dict[str, str]:
    nulls = [entry.name for entry in topic.configs if entry.value is None]
    if nulls:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {entry.name: entry.value for entry in topic.configs if entry.value is not None}
    try:
        validate_topic_overrides({name: configs[name] for name in hash_order(configs)}, config.release)
    except ConfigError as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
    return configs


def _assigned_partitions(topic: CreatableTopic, image: MetadataImage) -> list[PartitionRegistration]:
    manual = "A manual partition assignment was specified, but"
    if topic.replication_factor != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{manual} replication factor was not set to -1.")
    if topic.num_partitions != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{manual} numPartitions was not set to -1.")
    by_index: dict[int, PartitionRegistration] = {}
    replication_factor: int | None = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in by_index:
            message = f"Found multiple manual partition assignments for partition {index}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        validate_manual_assignment(assignment.broker_ids, image, replication_factor=replication_factor)
        replication_factor = len(assignment.broker_ids)
        registration = new_partition(tuple(assignment.broker_ids), image)
        if registration is None:
            message = (
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        by_index[index] = registration
    if sorted(by_index) != list(range(len(by_index))):
        message = "partitions should be a consecutive 0-based integer sequence"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return [by_index[index] for index in range(len(by_index))]


def _placed_partitions(
    topic: CreatableTopic, image: MetadataImage, config: BrokerConfig, random: Random
) -> list[PartitionRegistration]:
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        message = "Replication factor must be larger than 0, or -1 to use the default value."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        message = "Number of partitions was set to an invalid non-positive value."
        raise Refused(ErrorCode.INVALID_PARTITIONS, message)
    count = config.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    replication_factor = topic.replication_factor
    if replication_factor == -1:
        replication_factor = config.default_replication_factor
    prefix = f"Unable to replicate the partition {replication_factor} time(s): "
    try:
        placed = place(
            partitions=count if count <= MAX_RECORDS_PER_OPERATION else 1,
            replication_factor=replication_factor,
            brokers=image.brokers.values(),
            random=random,
            behaviour=config.behaviour,
        )
    except PlacementError as error:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"{prefix}{error}") from None
    if count > MAX_RECORDS_PER_OPERATION:
        raise _TooLarge
    partitions: list[PartitionRegistration] = []
    for replicas in placed:
        registration = new_partition(replicas, image)
        if registration is None:
            message = f"{prefix}All brokers are currently fenced or in controlled shutdown."
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        partitions.append(registration)
    return partitions


def new_partition(replicas: tuple[int, ...], image: MetadataImage) -> PartitionRegistration | None:
    """A new partition: every active replica is in sync, the first of them leads; None when there is none."""
    isr = only_active(replicas, image)
    if not isr:
        return None
    return PartitionRegistration(replicas=replicas, isr=isr, leader=isr[0], leader_epoch=0, partition_epoch=0)


def random_topic_id(random: Random) -> bytes:
    """A version 4 UUID whose text does not begin with a dash, and so none of the reserved ones. As Uuid.randomUuid."""
    while True:
        bits = random.getrandbits(128) & ~(0xF << 76) | 0x4 << 76
        bits = bits & ~(0x3 << 62) | 0x2 << 62
        topic_id = bits.to_bytes(16, "big")
        # 0xf8 and above in the first byte print as a dash in base64url, which command lines take for an option.
        if topic_id[0] < 0xF8:
            return topic_id


def created_topic(topic: TopicImage, config: BrokerConfig) -> CreatableTopicResult:
    """Return the result of a created topic."""
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=created_topic_entries(topic.configs, config),
    )


def refused_topic(name: str, error_code: ErrorCode, message: str | None) -> CreatableTopicResult:
    """Return the result of a rejected topic."""
    return CreatableTopicResult(name=name, error_code=error_code, error_message=message)


def _refused_metadata_topic(config: BrokerConfig) -> CreatableTopicResult:
    name = CLUSTER_METADATA_TOPIC_NAME
    if config.behaviour.cluster_metadata_creation_is_invalid:
        return refused_topic(name, ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    return refused_topic(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")


def _refuse_all(request: CreateTopicsRequest, error_code: ErrorCode, message: str | None) -> TopicCreation:
    results = [refused_topic(topic.name, error_code, message) for topic in request.topics]
    return TopicCreation(response=CreateTopicsResponse(topics=results), topics=[])


# Deletion.


def delete_topics(
    request: DeleteTopicsRequest, *, image: MetadataImage, quota: MutationQuota | None = None
) -> TopicDeletion:
    """Serve a DeleteTopics by name or by id; Kafka shuffles its results, these are in order."""
    results: list[DeletableTopicResult] = []
    names = list(request.topic_names)
    ids: list[bytes] = []
    for topic in request.topics:
        if topic.name is None and topic.topic_id == ZERO_UUID:
            results.append(_undeleted(None, ZERO_UUID, "Neither topic name nor id were specified."))
        elif topic.name is None:
            ids.append(topic.topic_id)
        elif topic.topic_id == ZERO_UUID:
            names.append(topic.name)
        else:
            results.append(_undeleted(topic.name, topic.topic_id, "You may not specify both topic name and topic id."))
    name_counts, id_counts = Counter(names), Counter(ids)
    if request.timeout_ms <= 0 and 1 in {*name_counts.values(), *id_counts.values()}:
        # Errors that do not depend on the metadata take precedence over the time-out.
        return TopicDeletion(response=refused_deletion(request, ErrorCode.REQUEST_TIMED_OUT))
    results += [_undeleted(name, ZERO_UUID, "Duplicate topic name.") for name, n in name_counts.items() if n > 1]
    results += [_undeleted(None, topic_id, "Duplicate topic id.") for topic_id, n in id_counts.items() if n > 1]
    doomed: dict[bytes, str] = {}
    for topic_id in (topic_id for topic_id, count in id_counts.items() if count == 1):
        known = image.topics_by_id.get(topic_id)
        if known is None:
            results.append(_undeleted(None, topic_id, _UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            doomed[topic_id] = known.name
    for name in (name for name, count in name_counts.items() if count == 1):
        known = image.topics.get(name)
        if known is None:
            results.append(_undeleted(name, ZERO_UUID, _UNKNOWN_TOPIC, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        elif known.topic_id in id_counts:
            doomed.pop(known.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            results.append(_undeleted(name, known.topic_id, message))
        else:
            doomed[known.topic_id] = name
    names = []
    for topic_id, name in doomed.items():
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        if quota is None or quota.accepts(len(image.topics[name].partitions)):
            names.append(name)
        else:
            result.error_code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        results.append(result)
    return TopicDeletion(response=DeleteTopicsResponse(responses=results), names=names)


def refused_deletion(
    request: DeleteTopicsRequest, error_code: ErrorCode, message: str | None = None
) -> DeleteTopicsResponse:
    """Return the response when the whole request fails. Mirrors DeleteTopicsRequest.getErrorResponse."""
    requested: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    requested += [(topic.name, topic.topic_id) for topic in request.topics]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error_code, error_message=message)
            for name, topic_id in requested
        ]
    )


def _undeleted(
    name: str | None, topic_id: bytes, message: str, error_code: ErrorCode = ErrorCode.INVALID_REQUEST
) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error_code, error_message=message)
