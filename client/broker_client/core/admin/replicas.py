"""Leaders and replicas: elections and reassignments. Mirrors KafkaAdminClient's calls; KIP-183, KIP-455, KIP-460.

All go to the controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.routes import CONTROLLER
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocol_specs.messages.elect_leaders import ElectLeadersResponse
    from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsResponse

__all__ = ["ElectionType", "PartitionReassignment", "ReplicaCalls"]

_RETRIED: Final = (ErrorCode.NOT_CONTROLLER,)
V = TypeVar("V")


class ElectionType(IntEnum):
    """PREFERRED: the first replica, if it is in sync. UNCLEAN: any that lives, though records be lost."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(slots=True, kw_only=True, frozen=True)
class PartitionReassignment:
    """A partition on its way to other replicas, by broker ids. Mirrors PartitionReassignment."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReplicaCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None = None
    ) -> list[TopicPartition]:
        """Elect leaders (None: for every partition that needs it) and return the partitions that have a new one.

        Raises ItemsFailed by partition: ELECTION_NOT_NEEDED for one that has the leader already.
        """
        requested = None if partitions is None else [TopicPartition.of(key) for key in partitions]
        topics = (
            None
            if requested is None
            else [TopicPartitions(topic=name, partitions=numbers) for name, numbers in by_topic(requested).items()]
        )
        if requested == []:
            return []
        response: ElectLeadersResponse = await self._calls.request(
            ElectLeadersRequest,
            lambda _, timeout_ms: ElectLeadersRequest(
                election_type=election_type, topic_partitions=topics, timeout_ms=timeout_ms
            ),
            route=CONTROLLER,
            error=lambda response: (response.error_code, None),
        )
        results = [
            (TopicPartition(topic.topic, one.partition_id), one)
            for topic in response.replica_election_results
            for one in topic.partition_result
        ]
        outcomes: Outcomes[TopicPartition, None] = Outcomes([key for key, _ in results])
        for key, one in results:
            outcomes.take(key, one.error_code, one.error_message, None, topic=key.topic)
        return list(outcomes.result())

    async def alter_partition_reassignments(self, reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Give partitions other replicas, None: stop doing so. Raises ItemsFailed by partition."""
        wanted = {TopicPartition.of(key): replicas for key, replicas in reassignments.items()}

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> AlterPartitionReassignmentsRequest:
            del version
            topics: dict[str, ReassignableTopic] = {}
            for key in keys:
                replicas = wanted[key]
                topics.setdefault(key.topic, ReassignableTopic(name=key.topic)).partitions.append(
                    ReassignablePartition(
                        partition_index=key.partition, replicas=None if replicas is None else list(replicas)
                    )
                )
            return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=list(topics.values()))

        def take(response: Any, requested: list[TopicPartition], outcomes: Outcomes[TopicPartition, None]) -> None:
            if response.error_code:
                for key in requested:
                    outcomes.take(key, response.error_code, response.error_message, None, retried=_RETRIED)
                return
            for topic in response.responses:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    outcomes.take(key, one.error_code, one.error_message, None, retried=_RETRIED, topic=topic.name)

        call = ItemCall(kind=AlterPartitionReassignmentsRequest, route=CONTROLLER, build=build, take=take)
        await self._calls.settle(list(wanted), call)

    async def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The partitions that are on their way, of all or of these."""
        topics = None
        if partitions is not None:
            named = by_topic([TopicPartition.of(key) for key in partitions])
            topics = [
                ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
                for name, numbers in named.items()
            ]
        response: ListPartitionReassignmentsResponse = await self._calls.request(
            ListPartitionReassignmentsRequest,
            lambda _, timeout_ms: ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics),
            route=CONTROLLER,
            error=lambda response: (response.error_code, response.error_message),
        )
        return {
            TopicPartition(topic.name, one.partition_index): PartitionReassignment(
                replicas=tuple(one.replicas),
                adding_replicas=tuple(one.adding_replicas),
                removing_replicas=tuple(one.removing_replicas),
            )
            for topic in response.topics
            for one in topic.partitions
        }


def by_topic(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic, in the order given."""
    numbers: dict[str, list[int]] = {}
    for topic, partition in partitions:
        numbers.setdefault(topic, []).append(partition)
    return numbers
