"""The state of a streams group. Mirrors StreamsGroup. Only the replay of records changes what its log keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup, GroupState
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
from broker_sim.coordinators.groups.streams.task_owners import TaskOwners
from broker_sim.coordinators.groups.streams.tasks import NO_TASKS, Tasks
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.group import PartitionCheck
    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredTopology
    from broker_sim.coordinators.groups.streams.endpoint_partitions import EndpointCache
    from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["StreamsGroup"]

_COMMIT_SINCE = 9
"""The first version of OffsetCommit for members of streams groups."""


class StreamsGroup(EpochGroup[StreamsMember, Tasks]):
    """A group whose members run the tasks of a topology."""

    type = GroupType.STREAMS

    def __init__(self, snapshots: SnapshotRegistry, group_id: str) -> None:
        super().__init__(snapshots, group_id, first_epoch=1, no_target=NO_TASKS)
        self.metadata_hash: TimelineValue[int] = TimelineValue(snapshots, 0)
        self.validated_topology_epoch: TimelineValue[int] = TimelineValue(snapshots, 0)
        """The epoch of the topology whose topics fit; -1 while they do not."""
        self.assignment_configs: TimelineValue[Mapping[str, str]] = TimelineValue(snapshots, {})
        """The configurations of the last epoch."""
        self.topology: TimelineValue[StreamsTopology | None] = TimelineValue(snapshots, None)
        self.configured_topology: TimelineValue[ConfiguredTopology | None] = TimelineValue(snapshots, None)
        """Derived from the topology and the cluster's topics at a heartbeat; no record has it."""
        self.owners = TaskOwners(snapshots)
        self.endpoint_epoch = 0
        """Grows when a member with an endpoint gets tasks."""
        self.endpoints: EndpointCache = {}
        self.shutdown_member_id: str | None = None
        """The member that shuts the application down; forgotten when the group is empty."""

    # State.

    def state(self, committed_offset: int | None = None) -> GroupState:
        """Return the state, as of an offset if one is given. Mirrors maybeUpdateGroupState."""
        state = super().state(committed_offset)
        topology = self.topology.get(committed_offset)
        validated_epoch = self.validated_topology_epoch.get(committed_offset)
        if state is not GroupState.EMPTY and (topology is None or topology.epoch != validated_epoch):
            return GroupState.NOT_READY
        return state

    # Members.

    def _member_changed(self, old: StreamsMember | None, new: StreamsMember | None) -> None:
        """Update the owners of tasks; without members the application may start again."""
        self.owners.member_changed(old, new)
        for member in (old, new):
            if member is not None:
                self.endpoints.pop(member.member_id, None)
        if not self.members:
            self.shutdown_member_id = None

    def request_shutdown(self, member_id: str) -> None:
        """Let all members shut down; the first request counts."""
        if self.shutdown_member_id is None:
            self.shutdown_member_id = member_id

    # Topics.

    def uses_any(self, topics: frozenset[str]) -> bool:
        """Return True if the topology has one of the topics."""
        topology = self.topology.get()
        return topology is not None and not topics.isdisjoint(topology.required_topics)

    def configure(self, topology: ConfiguredTopology) -> None:
        """Set the topology as the cluster's topics make it."""
        self.configured_topology.set(topology)
        self.endpoints.clear()

    # Offsets and deletion.

    def check_offset_commit(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        transactional: bool,
        api_version: int,
    ) -> PartitionCheck | None:
        """Raise unless the member may commit offsets. Mirrors validateOffsetCommit.

        With an earlier epoch a member may commit the partitions of tasks that it has had since then (KIP-1251).
        """
        if member_epoch < 0 and self.is_empty():
            return None
        if transactional and member_epoch == -1 and not member_id and group_instance_id is None:
            return None
        member = self.existing_member(member_id)
        if not transactional and api_version < _COMMIT_SINCE:
            raise CoordinatorError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the streams group protocol",
            )
        if member_epoch >= member.member_epoch:
            _check_epoch(member, member_epoch)
            return None
        topology = self.topology.get()
        sources = {} if topology is None else topology.source_topics

        def check(topic: str, _: bytes, partition: int) -> None:
            subtopology = sources.get(topic, "")
            epochs = [held.active.get(subtopology, {}) for held in (member.assigned, member.pending_revocation)]
            since = epochs[0].get(partition, epochs[1].get(partition))
            if topic not in sources or since is None or member_epoch < since:
                raise CoordinatorError(ErrorCode.STALE_MEMBER_EPOCH)

        return check

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        """Raise unless the member may fetch offsets. Mirrors validateOffsetFetch."""
        if member_id is None:
            if member_epoch < 0:
                return
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka looks a null id up
        _check_epoch(self.existing_member(member_id, committed_offset), member_epoch)

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        return streams_records.group_tombstones(self.group_id, self.member_ids())

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if the topology reads the topic, while there are members."""
        topology = self.topology.get()
        return not self.is_empty() and topology is not None and topic in topology.source_topics


def _check_epoch(member: StreamsMember, member_epoch: int) -> None:
    if member_epoch != member.member_epoch:
        raise CoordinatorError(
            ErrorCode.STALE_MEMBER_EPOCH,
            f"The received member epoch {member_epoch} does not match the expected member epoch {member.member_epoch}.",
        )
