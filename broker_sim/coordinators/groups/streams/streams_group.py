"""The state of a streams group. Mirrors StreamsGroup. Only the replay of records changes what its log keeps."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NoReturn, TypeVar

from broker_sim.config.java_hash import string_hash, timeline_order
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.task_owners import TaskOwners
from broker_sim.coordinators.groups.streams.tasks import NO_TASKS
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.group import PartitionCheck
    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredTopology
    from broker_sim.coordinators.groups.streams.endpoint_partitions import EndpointCache
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
    from broker_sim.coordinators.groups.streams.tasks import Tasks
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["PROTOCOL_TYPE", "StreamsGroup", "StreamsGroupState"]

PROTOCOL_TYPE = "streams"
V = TypeVar("V")
_COMMIT_SINCE = 9
"""The first version of OffsetCommit for members of streams groups."""


class StreamsGroupState(Enum):
    """The state of a group; the value is its name in responses."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """Topics of the topology are missing, or do not fit it."""
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class StreamsGroup:
    """Epochs, topology, members and target assignments of one group."""

    type = GroupType.STREAMS

    def __init__(self, snapshots: SnapshotRegistry, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch: TimelineValue[int] = TimelineValue(snapshots, 1)
        self.assignment_epoch: TimelineValue[int] = TimelineValue(snapshots, 1)
        """The group epoch for which the target assignment was computed; 1 before the first, -1 once it is deleted."""
        self.assignment_timestamp_ms: TimelineValue[int] = TimelineValue(snapshots, 0)
        self.metadata_hash: TimelineValue[int] = TimelineValue(snapshots, 0)
        self.validated_topology_epoch: TimelineValue[int] = TimelineValue(snapshots, 0)
        """The epoch of the topology whose topics fit; -1 while they do not."""
        self.assignment_configs: TimelineValue[Mapping[str, str]] = TimelineValue(snapshots, {})
        """The configurations of the last epoch."""
        self.topology: TimelineValue[StreamsTopology | None] = TimelineValue(snapshots, None)
        self.configured_topology: TimelineValue[ConfiguredTopology | None] = TimelineValue(snapshots, None)
        """Derived from the topology and the cluster's topics at a heartbeat; no record has it."""
        self.members: TimelineDict[str, StreamsMember] = TimelineDict(snapshots)
        self.target: TimelineDict[str, Tasks] = TimelineDict(snapshots)
        self.owners = TaskOwners(snapshots)
        self.endpoint_epoch = 0
        """Grows when a member with an endpoint gets tasks."""
        self.endpoints: EndpointCache = {}
        self.shutdown_member_id: str | None = None
        """The member that shuts the application down; forgotten when the group is empty."""
        self._refresh_at_ms = 0
        self._refresh_epoch = 0

    # State.

    def state(self, committed_offset: int | None = None) -> StreamsGroupState:
        """Return the state, as of an offset if one is given. Mirrors maybeUpdateGroupState."""
        offset = committed_offset
        members = self.members.values() if offset is None else list(self.members.at(offset).values())
        if not members:
            return StreamsGroupState.EMPTY
        topology = _at(self.topology, offset)
        if topology is None or topology.epoch != _at(self.validated_topology_epoch, offset):
            return StreamsGroupState.NOT_READY
        assignment_epoch = _at(self.assignment_epoch, offset)
        if _at(self.group_epoch, offset) > assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled_to(assignment_epoch) for member in members):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def state_name(self, committed_offset: int | None = None) -> str:
        """Return the state as responses name it."""
        return self.state(committed_offset).value

    def protocol_type(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return "streams"."""
        return PROTOCOL_TYPE

    # Members.

    def existing_member(self, member_id: str) -> StreamsMember:
        """Return a member.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID.
        """
        member = self.members.get(member_id)
        if member is None:
            self._unknown_member(member_id)
        return member

    def _unknown_member(self, member_id: str | None) -> NoReturn:
        raise CoordinatorError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
        )

    def put_member(self, member: StreamsMember) -> None:
        """Add a member, or replace it."""
        self.owners.member_changed(self.members.get(member.member_id), member)
        self.members[member.member_id] = member
        self.endpoints.pop(member.member_id, None)

    def remove_member(self, member_id: str) -> None:
        """Remove a member; does nothing if there is none."""
        old = self.members.pop(member_id)
        self.owners.member_changed(old, None)
        self.endpoints.pop(member_id, None)
        if not self.members:
            self.shutdown_member_id = None

    def member_ids(self, committed_offset: int | None = None) -> list[str]:
        """Return the members' ids in the order of Kafka's table of them."""
        ids = self.members.keys() if committed_offset is None else list(self.members.at(committed_offset))
        return [ids[place] for place in timeline_order([string_hash(member_id) for member_id in ids])]

    def is_empty(self) -> bool:
        """Return True if the group has no members."""
        return not self.members

    def target_of(self, member_id: str) -> Tasks:
        """Return the target assignment of a member, which is empty if it has none."""
        return self.target.get(member_id) or NO_TASKS

    def request_shutdown(self, member_id: str) -> None:
        """Let all members shut down; the first request counts."""
        if self.shutdown_member_id is None:
            self.shutdown_member_id = member_id

    # Topics.

    def has_metadata_expired(self, now_ms: int) -> bool:
        """Return True if the hash of the topics must be computed again."""
        return now_ms >= self._refresh_at_ms or self.group_epoch.get() < self._refresh_epoch

    def refresh_metadata_at(self, deadline_ms: int, group_epoch: int) -> None:
        """Compute the hash again at a time, or when the write of this epoch was reverted."""
        self._refresh_at_ms, self._refresh_epoch = deadline_ms, group_epoch

    def request_metadata_refresh(self) -> None:
        """Compute the hash again at the next heartbeat: a topic has changed."""
        self._refresh_at_ms = self._refresh_epoch = 0

    def requires(self, topics: frozenset[str]) -> bool:
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
        if member_id is None and member_epoch < 0:
            return
        member = None if member_id is None else self.members.get_at(member_id, committed_offset)
        if member is None:
            self._unknown_member(member_id)
        _check_epoch(member, member_epoch)

    def check_offset_delete(self) -> None:
        """Offsets of topics that the topology does not read may always be deleted."""

    def check_delete(self) -> None:
        """Raise unless the group is empty."""
        if not self.is_empty():
            raise CoordinatorError(ErrorCode.NON_EMPTY_GROUP)

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        return streams_records.group_tombstones(self.group_id, self.member_ids())

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if the topology reads the topic, while there are members."""
        topology = self.topology.get()
        return not self.is_empty() and topology is not None and topic in topology.source_topics

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time of the commit."""
        return commit_timestamp_ms

    def commit_received(self, member_id: str) -> None:
        """Only heartbeats keep the session of a member."""


def _at(value: TimelineValue[V], committed_offset: int | None) -> V:
    return value.get() if committed_offset is None else value.get_at(committed_offset)


def _check_epoch(member: StreamsMember, member_epoch: int) -> None:
    if member_epoch != member.member_epoch:
        raise CoordinatorError(
            ErrorCode.STALE_MEMBER_EPOCH,
            f"The received member epoch {member_epoch} does not match the expected member epoch {member.member_epoch}.",
        )
