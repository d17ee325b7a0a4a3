"""AlterPartition at the controller. Mirrors ReplicationControlManager.alterPartition (KIP-497, KIP-903)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.controller.election import ElectionRules, change_partition
from broker_sim.metadata.metadata_image import NO_LEADER, RECOVERED, RECOVERING
from broker_sim.replication.isr import ANY_BROKER_EPOCH
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
    from protocol_specs.messages.alter_partition import AlterPartitionRequest, PartitionData, TopicData


class RulesOf(Protocol):
    """The rules of a partition's elections in an image."""

    def __call__(self, image: MetadataImage, topic_partition: TopicPartition, /) -> ElectionRules:
        """Serve one request."""


def serve_alter_partition(
    image: MetadataImage, request: AlterPartitionRequest, rules_of: RulesOf
) -> tuple[dict[TopicPartition, PartitionRegistration], AlterPartitionResponse]:
    """Return the changes to commit and the response, in the order of the request."""
    changes: dict[TopicPartition, PartitionRegistration] = {}
    topics = []
    for requested in request.topics:
        topic = _topic(image, requested)
        partitions = []
        for proposal in requested.partitions:
            error = _refusal(image, topic, request.broker_id, proposal, unknown=_unknown(requested))
            if error or topic is None:
                partitions.append(ResponsePartitionData(partition_index=proposal.partition_index, error_code=error))
            else:
                name = TopicPartition(topic.name, proposal.partition_index)
                partitions.append(_changed(image, request, name, proposal, rules_of, changes))
        topics.append(
            ResponseTopicData(topic_id=requested.topic_id, topic_name=requested.topic_name, partitions=partitions)
        )
    return changes, AlterPartitionResponse(error_code=ErrorCode.NONE, topics=topics)


def _changed(
    image: MetadataImage,
    request: AlterPartitionRequest,
    name: TopicPartition,
    proposal: PartitionData,
    rules_of: RulesOf,
    changes: dict[TopicPartition, PartitionRegistration],
) -> ResponsePartitionData:
    partition = image.topics[name.topic].partitions[name.partition]
    change = change_partition(
        partition,
        target_isr=tuple(replica for replica, _ in _members(proposal)),
        rules=rules_of(image, name),
        recovery_state=proposal.leader_recovery_state,
    )
    if change is not None:
        partition = changes[name] = change.registration
        if partition.leader not in (request.broker_id, NO_LEADER):
            # The ISR completes a reassignment that removes the leader: the change is made, the leader gets an error.
            return ResponsePartitionData(partition_index=name.partition, error_code=ErrorCode.NEW_LEADER_ELECTED)
    return ResponsePartitionData(
        partition_index=name.partition,
        error_code=ErrorCode.NONE,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _topic(image: MetadataImage, requested: TopicData) -> TopicImage | None:
    """Return the topic of its id from v2 on, else of its name."""
    return (
        image.topics.get(requested.topic_name)
        if _is_by_name(requested)
        else image.topics_by_id.get(bytes(requested.topic_id))
    )


def _is_by_name(requested: TopicData) -> bool:
    return requested.topic_id == ZERO_UUID and bool(requested.topic_name)


def _unknown(requested: TopicData) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if _is_by_name(requested) else ErrorCode.UNKNOWN_TOPIC_ID


def _members(proposal: PartitionData) -> list[tuple[int, int]]:
    """The ISR with broker epochs (KIP-903); before v3 without."""
    if proposal.new_isr:
        return [(replica, ANY_BROKER_EPOCH) for replica in proposal.new_isr]
    return [(each.broker_id, each.broker_epoch) for each in proposal.new_isr_with_epochs]


def _refusal(
    image: MetadataImage, topic: TopicImage | None, broker_id: int, proposal: PartitionData, *, unknown: ErrorCode
) -> ErrorCode:
    if topic is None:
        return unknown
    if not 0 <= proposal.partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[proposal.partition_index]
    members = _members(proposal)
    isr = [replica for replica, _ in members]
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if proposal.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if partition.leader not in isr or len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if not _can_recover(partition, proposal.leader_recovery_state, isr):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(image, replica, epoch) for replica, epoch in members):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _can_recover(partition: PartitionRegistration, state: int, isr: list[int]) -> bool:
    """A leader that recovers is alone in its ISR, and one that has recovered stays so (KIP-704)."""
    if state == RECOVERING:
        return len(isr) <= 1 and partition.leader_recovery_state == RECOVERING
    return state == RECOVERED


def _is_eligible(image: MetadataImage, broker_id: int, broker_epoch: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active and broker_epoch in (ANY_BROKER_EPOCH, broker.epoch)
