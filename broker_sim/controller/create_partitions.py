"""Validates the addition of partitions and places their replicas. Pure functions of an image.

Mirrors ControllerApis.createPartitions with ReplicationControlManager.createPartitions. Each topic has its own result;
the records of one operation are limited, and Kafka keeps those that it has written before it reaches the limit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from broker_sim.controller.manual_assignment import Refused, validate_manual_assignment
from broker_sim.controller.replica_placer import PlacementError, place
from broker_sim.controller.topics import MAX_RECORDS_PER_OPERATION, new_partition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, timeline_order
from protocol_specs.messages.create_partitions import CreatePartitionsResponse, CreatePartitionsTopicResult

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota
    from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic


@dataclass(slots=True, kw_only=True)
class PartitionCreation:
    """The response to a CreatePartitions, and the topics after the change (none when it only validates)."""

    response: CreatePartitionsResponse
    topics: list[TopicImage] = field(default_factory=list)


def create_partitions(
    request: CreatePartitionsRequest,
    *,
    image: MetadataImage,
    config: BrokerConfig,
    random: Random,
    quota: MutationQuota | None = None,
) -> PartitionCreation:
    """Serve a CreatePartitions; `random` chooses the first brokers."""
    counts = Counter(topic.name for topic in request.topics)
    names = hash_order(counts)
    wanted = {topic.name: topic for topic in request.topics if counts[topic.name] == 1}
    if wanted and request.timeout_ms <= 0:
        return PartitionCreation(response=refused_creation(request, ErrorCode.REQUEST_TIMED_OUT))
    results = [
        CreatePartitionsTopicResult(
            name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name."
        )
        for name in names
        if counts[name] > 1
    ]
    grown: list[TopicImage] = []
    room = MAX_RECORDS_PER_OPERATION
    for name in names:
        if counts[name] > 1:
            continue
        result = CreatePartitionsTopicResult(name=name, error_code=ErrorCode.NONE)
        try:
            added, whole = _added(wanted[name], image, config, random, room, quota)
        except Refused as refused:
            result.error_code, result.error_message = refused.error_code, refused.message
        else:
            room -= len(added)
            topic = image.topics[name]
            if added:
                grown.append(replace(topic, partitions=(*topic.partitions, *added)))
            if not whole:
                # As BoundedList: the first record beyond the limit is an error, those before it are still written.
                result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        results.append(result)
    return PartitionCreation(
        response=CreatePartitionsResponse(results=results), topics=[] if request.validate_only else grown
    )


def _added(
    wanted: CreatePartitionsTopic,
    image: MetadataImage,
    config: BrokerConfig,
    random: Random,
    room: int,
    quota: MutationQuota | None,
) -> tuple[list[PartitionRegistration], bool]:
    """The new partitions, at most `room`, and whether these are all; Refused, looked for in Kafka's order."""
    topic = image.topics.get(wanted.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    existing = len(topic.partitions)
    if wanted.count == existing:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if wanted.count < existing:
        message = (
            f"The topic {wanted.name} currently has {existing} partition(s); {wanted.count} would not be an increase."
        )
        raise Refused(ErrorCode.INVALID_PARTITIONS, message)
    additional = wanted.count - existing
    if wanted.assignments is not None and len(wanted.assignments) != additional:
        message = (
            f"Attempted to add {additional} additional partition(s), but only {len(wanted.assignments)} assignment(s) "
            "were specified."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    if quota is not None and not quota.accepts(additional):
        raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
    # Reassignments may have left several factors. Kafka takes that of the partition which its hash table lists first.
    changed = any(each.partition_epoch for each in topic.partitions)
    factor = len(topic.partitions[timeline_order(range(existing), replaced=changed)[0]].replicas)
    if wanted.assignments is not None:
        partitions = _assigned(wanted, image, existing, factor)
    else:
        partitions = _placed(min(additional, room), image, config, random, factor)
    return partitions[:room], additional <= room


def _assigned(
    wanted: CreatePartitionsTopic, image: MetadataImage, first_index: int, factor: int
) -> list[PartitionRegistration]:
    partitions: list[PartitionRegistration] = []
    for index, assignment in enumerate(wanted.assignments or (), first_index):
        validate_manual_assignment(assignment.broker_ids, image, replication_factor=factor)
        registration = new_partition(tuple(assignment.broker_ids), image)
        if registration is None:
            message = (
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        partitions.append(registration)
    return partitions


def _placed(
    count: int, image: MetadataImage, config: BrokerConfig, random: Random, factor: int
) -> list[PartitionRegistration]:
    try:
        placed = place(
            partitions=count,
            replication_factor=factor,
            brokers=image.brokers.values(),
            random=random,
            behaviour=config.behaviour,
        )
    except PlacementError as error:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from None
    partitions: list[PartitionRegistration] = []
    for replicas in placed:
        registration = new_partition(replicas, image)
        if registration is None:
            message = (
                f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in "
                "controlled shutdown."
            )
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        partitions.append(registration)
    return partitions


def refused_creation(
    request: CreatePartitionsRequest, error_code: ErrorCode, message: str | None = None
) -> CreatePartitionsResponse:
    """Return the response when the whole request fails. Mirrors CreatePartitionsRequest.getErrorResponse."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error_code, error_message=message)
            for topic in request.topics
        ]
    )
