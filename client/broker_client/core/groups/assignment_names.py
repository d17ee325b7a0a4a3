"""The topic names of an assignment, which has ids alone. Mirrors AbstractMembershipManager.findResolvableAssignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.consumer_heartbeats import LocalAssignment
from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from broker_client.core.network.metadata import Metadata

__all__ = ["AssignmentNames"]


class AssignmentNames:
    """Remembers the names of assigned topics: metadata may lose them before the assignment does."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._names: dict[bytes, str] = {}

    def resolved(self, target: LocalAssignment) -> LocalAssignment | None:
        """Return the part of an assignment whose topic names are known; None if nothing of it is known yet."""
        known = {one.topic_id: name for name, one in self._metadata.cluster.topics.items() if one.topic_id}
        self._names.update((topic_id, known[topic_id]) for topic_id in target.partitions if topic_id in known)
        resolved = {topic_id: numbers for topic_id, numbers in target.partitions.items() if topic_id in self._names}
        if len(resolved) < len(target.partitions):
            self._metadata.request_update()
            if not resolved:
                return None
        return LocalAssignment(target.local_epoch, resolved) if resolved != target.partitions else target

    def named(self, assignment: LocalAssignment) -> list[TopicPartition]:
        """Return the partitions of a resolved assignment, sorted."""
        return sorted(
            TopicPartition(self._names[topic_id], number)
            for topic_id, numbers in assignment.partitions.items()
            for number in numbers
        )
