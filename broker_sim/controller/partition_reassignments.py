"""AlterPartitionReassignments and ListPartitionReassignments at the controller. Mirrors ReplicationControlManager,

alterPartitionReassignments and listPartitionReassignments (KIP-455, KIP-860).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.controller.election import Election, PartitionChange, change_partition
from broker_sim.controller.manual_assignment import Refused, validate_manual_assignment
from broker_sim.controller.partition_edits import PartitionEdits
from broker_sim.controller.reassignment import assignment_of, revert, towards
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.controller.controller import Controller
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration


@dataclass(slots=True, kw_only=True)
class Reassignments:
    """The response to an AlterPartitionReassignments, and its changes."""

    response: AlterPartitionReassignmentsResponse
    edits: PartitionEdits


def alter_partition_reassignments(request: AlterPartitionReassignmentsRequest, controller: Controller) -> Reassignments:
    """Serve an AlterPartitionReassignments, partition by partition."""
    edits = PartitionEdits(controller.image)
    if not request.topics:
        # As Kafka, whose message has an empty error text by default.
        return Reassignments(response=AlterPartitionReassignmentsResponse(error_message=""), edits=edits)
    if request.timeout_ms <= 0:
        return Reassignments(response=refused_reassignments(request, ErrorCode.REQUEST_TIMED_OUT), edits=edits)
    responses = []
    for topic in request.topics:
        partitions = []
        for wanted in topic.partitions:
            partition = ReassignablePartitionResponse(
                partition_index=wanted.partition_index, error_code=ErrorCode.NONE, error_message=None
            )
            topic_partition = TopicPartition(topic.name, wanted.partition_index)
            try:
                may_change_factor = request.allow_replication_factor_change
                change = _change(controller, topic_partition, wanted, may_change_factor=may_change_factor)
            except Refused as refused:
                partition.error_code, partition.error_message = refused.error_code, refused.message
            else:
                if change is not None:
                    edits.add(topic_partition, change)
            partitions.append(partition)
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=responses,
    )
    return Reassignments(response=response, edits=edits)


def _change(
    controller: Controller, topic_partition: TopicPartition, wanted: ReassignablePartition, *, may_change_factor: bool
) -> PartitionChange | None:
    name, index = topic_partition
    image = controller.image
    if name not in image.topics:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = image.partition(name, index)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    if wanted.replicas is None:
        return _cancel(controller, topic_partition, partition)
    return _reassign(controller, topic_partition, partition, wanted.replicas, may_change_factor=may_change_factor)


def _reassign(
    controller: Controller,
    topic_partition: TopicPartition,
    partition: PartitionRegistration,
    replicas: Sequence[int],
    *,
    may_change_factor: bool,
) -> PartitionChange | None:
    image = controller.image
    validate_manual_assignment(replicas, image)
    factor = assignment_of(partition).target_size
    if not may_change_factor and len(replicas) != factor:
        message = f"The replication factor is changed from {factor} to {len(replicas)}"
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    return change_partition(
        partition,
        target_isr=partition.isr,
        target=towards(partition, replicas),
        rules=controller.election_rules(image, topic_partition, election=Election.ONLINE),
    )


def _cancel(
    controller: Controller, topic_partition: TopicPartition, partition: PartitionRegistration
) -> PartitionChange | None:
    if not partition.is_reassigning:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)
    back = revert(partition)
    rules = controller.election_rules(controller.image, topic_partition)
    if back.unclean and rules.election is not Election.UNCLEAN:
        message = (
            f"Unable to revert partition assignment for {topic_partition.topic}:{topic_partition.partition} because it "
            "would require an unclean leader election."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    change = change_partition(partition, target_isr=back.isr, target=back.assignment, rules=rules)
    if change is not None and back.unclean:
        return PartitionChange(registration=change.registration, unclean=True)
    return change


def refused_reassignments(
    request: AlterPartitionReassignmentsRequest, error_code: ErrorCode, message: str | None = None
) -> AlterPartitionReassignmentsResponse:
    """Return the response when the whole request fails. Mirrors AlterPartitionReassignmentsRequest.getErrorResponse."""
    return AlterPartitionReassignmentsResponse(
        error_code=error_code,
        error_message=message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=wanted.partition_index, error_code=error_code, error_message=message
                    )
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, image: MetadataImage
) -> ListPartitionReassignmentsResponse:
    """Return the requested reassignments in progress (null: all), without topics that have none."""
    wanted: list[tuple[str, Sequence[int]]]
    if request.topics is None:
        wanted = [(name, range(len(topic.partitions))) for name, topic in image.topics.items()]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = []
    for name, indexes in wanted:
        partitions = [
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding_replicas),
                removing_replicas=list(partition.removing_replicas),
            )
            for index in indexes
            if (partition := image.partition(name, index)) is not None and partition.is_reassigning
        ]
        if partitions:
            topics.append(OngoingTopicReassignment(name=name, partitions=partitions))
    return ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None, topics=topics)
