"""What the controller makes of AlterPartition. Mirrors ReplicationControlManager.alterPartition (KIP-497, KIP-903)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.controller.controller_messages import AlteredPartition, AlterPartitionResponse
from broker_sim.controller.election import ElectionRules, change_partition
from broker_sim.controller.metadata_image import NO_LEADER
from broker_sim.replication.isr import ANY_BROKER_EPOCH
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.controller.controller_messages import AlterPartitionRequest, IsrProposal
    from broker_sim.controller.metadata_image import MetadataImage, PartitionRegistration
    from broker_sim.topic_partition import TopicPartition


class RulesOf(Protocol):
    """The rules of a partition's elections in an image."""

    def __call__(self, image: MetadataImage, topic_partition: TopicPartition, /) -> ElectionRules:
        """Answer them."""


def answer_alter_partition(
    image: MetadataImage, request: AlterPartitionRequest, rules_of: RulesOf
) -> tuple[dict[TopicPartition, PartitionRegistration], AlterPartitionResponse]:
    """The changes to commit, and the answers, in the order of the proposals."""
    changes: dict[TopicPartition, PartitionRegistration] = {}
    answers = []
    for proposal in request.proposals:
        topic_partition = proposal.topic_partition
        error = _refusal(image, request.broker_id, proposal)
        if error:
            answers.append(AlteredPartition(topic_partition=topic_partition, error_code=error))
            continue
        partition = image.topics_by_id[proposal.topic_id].partitions[topic_partition.partition]
        change = change_partition(
            partition,
            target_isr=tuple(replica for replica, _ in proposal.new_isr),
            rules=rules_of(image, topic_partition),
        )
        if change is not None:
            partition = changes[topic_partition] = change.registration
            if partition.leader not in (request.broker_id, NO_LEADER):
                # The ISR has ended a reassignment that leaves the leader out: it is changed, and the leader is told.
                answers.append(
                    AlteredPartition(topic_partition=topic_partition, error_code=ErrorCode.NEW_LEADER_ELECTED)
                )
                continue
        answers.append(
            AlteredPartition(
                topic_partition=topic_partition,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                isr=partition.isr,
                partition_epoch=partition.partition_epoch,
            )
        )
    return changes, AlterPartitionResponse(partitions=answers)


def _refusal(image: MetadataImage, broker_id: int, proposal: IsrProposal) -> ErrorCode:
    topic = image.topics_by_id.get(proposal.topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if proposal.topic_partition.partition >= len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[proposal.topic_partition.partition]
    isr = [replica for replica, _ in proposal.new_isr]
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
    if not all(_is_eligible(image, replica, epoch) for replica, epoch in proposal.new_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _is_eligible(image: MetadataImage, broker_id: int, broker_epoch: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active and broker_epoch in (ANY_BROKER_EPOCH, broker.epoch)
