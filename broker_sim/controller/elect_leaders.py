"""ElectLeaders at the controller. Mirrors ReplicationControlManager.electLeaders (KIP-183, KIP-460)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.controller.election import Election, change_partition
from broker_sim.controller.partition_edits import PartitionEdits
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import string_hash, timeline_order
from protocol_specs.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.controller.controller import Controller
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration

_ELECTIONS: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
_MESSAGES: Final = {
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}


@dataclass(slots=True, kw_only=True)
class Elections:
    """The response to an ElectLeaders, and its changes."""

    response: ElectLeadersResponse
    edits: PartitionEdits


def elect_leaders(request: ElectLeadersRequest, controller: Controller) -> Elections:
    """Serve an ElectLeaders. A request for all partitions leaves out those that need no election."""
    image = controller.image
    edits = PartitionEdits(image)
    if request.topic_partitions is not None and not request.topic_partitions:
        return Elections(response=ElectLeadersResponse(), edits=edits)
    if request.timeout_ms <= 0:
        return Elections(response=refused_elections(request, ErrorCode.REQUEST_TIMED_OUT), edits=edits)
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        message = f"Unknown election type {request.election_type}"
        return Elections(response=refused_elections(request, ErrorCode.INVALID_REQUEST, message), edits=edits)
    if request.topic_partitions is None:
        wanted = _everything(image)
    else:
        wanted = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    results = []
    for name, partitions in wanted:
        responses = [_elect(controller, TopicPartition(name, index), election, edits) for index in partitions]
        if request.topic_partitions is None:
            responses = [each for each in responses if each.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=name, partition_result=responses))
    return Elections(response=ElectLeadersResponse(replica_election_results=results), edits=edits)


def _everything(image: MetadataImage) -> list[tuple[str, list[int]]]:
    """Every partition by topic, as the controller's tables list them."""
    topics = list(image.topics.values())
    order = timeline_order(string_hash(topic.name) for topic in topics)
    return [(topics[place].name, _listed(topics[place].partitions)) for place in order]


def _listed(partitions: Sequence[PartitionRegistration]) -> list[int]:
    changed = any(each.partition_epoch for each in partitions)
    return timeline_order(range(len(partitions)), replaced=changed)


def _elect(
    controller: Controller, topic_partition: TopicPartition, election: Election, edits: PartitionEdits
) -> PartitionResult:
    name, index = topic_partition
    image = controller.image
    if name not in image.topics:
        return _result(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = image.partition(name, index)
    if partition is None:
        return _result(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    if partition.has_leader and (election is Election.UNCLEAN or partition.leader == partition.preferred_leader):
        return _result(index, ErrorCode.ELECTION_NOT_NEEDED)
    change = change_partition(
        partition,
        target_isr=partition.isr,
        rules=controller.election_rules(image, topic_partition, election=election),
    )
    if change is None:
        if election is Election.PREFERRED:
            return _result(index, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
        return _result(index, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    edits.add(topic_partition, change)
    return _result(index, ErrorCode.NONE)


def _result(index: int, error_code: ErrorCode, message: str | None = None) -> PartitionResult:
    return PartitionResult(
        partition_id=index, error_code=error_code, error_message=message or _MESSAGES.get(error_code)
    )


def refused_elections(
    request: ElectLeadersRequest, error_code: ErrorCode, message: str | None = None
) -> ElectLeadersResponse:
    """Return the response when the whole request fails. Mirrors ElectLeadersRequest.getErrorResponse."""
    return ElectLeadersResponse(
        error_code=error_code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=error_code, error_message=message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )
