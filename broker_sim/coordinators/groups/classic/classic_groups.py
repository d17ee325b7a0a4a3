"""The classic groups of one shard. Mirrors the part of GroupMetadataManager that owns the records of classic groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import NO_MEMBER_ID, ClassicGroup, GroupServices
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
from broker_sim.coordinators.groups.classic.group_limits import UNLIMITED, group_limit
from broker_sim.coordinators.groups.classic.join_phase import JoinPhase
from broker_sim.coordinators.groups.classic.joining import Joining
from broker_sim.coordinators.groups.classic.leaving import Leaving
from broker_sim.coordinators.groups.classic.rebalances import Rebalances
from broker_sim.coordinators.groups.classic.responses import join_refusal, sync_refusal
from broker_sim.coordinators.groups.classic.sync_phase import SyncPhase
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.group_journal import GroupJournal
from broker_sim.coordinators.groups.group_registry import other_type
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.coordinator.group_metadata import GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.group import Group
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.message import Message
    from protocol_specs.messages.heartbeat import HeartbeatRequest
    from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from protocol_specs.messages.leave_group import LeaveGroupResponse, MemberIdentity
    from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from protocol_specs.schemas.coordinator.group_metadata import GroupMetadataValue, MemberMetadata

__all__ = ["ClassicGroups", "ServesClassicProtocol"]

_UNKNOWN: Final = ErrorCode.UNKNOWN_MEMBER_ID


class ServesClassicProtocol(Protocol):
    """Serves the requests of classic members to non-empty groups of another type, which they may join."""

    def classic_join(self, group: Any, joining: Joining) -> CoordinatorResult[Any]:
        """Serve JoinGroup."""

    def classic_sync(
        self, group: Any, request: SyncGroupRequest, client: ClientInfo, response: ParkedResponse[SyncGroupResponse]
    ) -> CoordinatorResult[Any]:
        """Serve SyncGroup."""

    def classic_heartbeat(
        self, group: Any, request: HeartbeatRequest, client: ClientInfo
    ) -> CoordinatorResult[ErrorCode]:
        """Serve Heartbeat."""

    def classic_leave(self, group: Any, members: Sequence[MemberIdentity]) -> CoordinatorResult[LeaveGroupResponse]:
        """Serve LeaveGroup."""


class ClassicGroups:
    """Serves the requests of the classic protocol, and replays the records of classic groups."""

    def __init__(self, context: ShardContext, groups: GroupRegistry, *, old_coordinator: bool) -> None:
        self._context = context
        self._groups = groups
        self.rebalances = Rebalances(context, self.find)
        self._services = GroupServices(
            now_ms=context.now_ms,
            restart_session=self.rebalances.restart_session,
            old_coordinator=old_coordinator,
            journal=GroupJournal(context),
            awaited_assignment_state=context.config.behaviour.awaited_assignment_state,
        )
        self._joins = JoinPhase(context, self.rebalances, old_coordinator=old_coordinator)
        self._syncs = SyncPhase(context, self.rebalances, old_coordinator=old_coordinator)
        self._leaving = Leaving(self.rebalances, old_coordinator=old_coordinator)
        self._refuses_other_types = is_first_preview(context.config)
        converts_streams = context.config.behaviour.empty_classic_and_streams_groups_convert
        self._convertible_types = (GroupType.CONSUMER, *((GroupType.STREAMS,) if converts_streams else ()))
        """The types of groups that become classic ones with the first JoinGroup if they are empty."""
        self.servers: dict[GroupType, ServesClassicProtocol] = {}
        """The servers of groups of other types that classic members may join."""

    # Groups.

    def find(self, group_id: str) -> ClassicGroup | None:
        """Return the newest classic group of an id, None if there is none."""
        return self._groups.find(ClassicGroup, group_id)

    def create(self, group_id: str) -> ClassicGroup:
        """Add an empty group."""
        group = ClassicGroup(group_id, self._services)
        self._groups.add(group)
        return group

    def create_stable(self, group_id: str, generation_id: int) -> ClassicGroup:
        """Add a stable group without members, in place of one of another type."""
        group = ClassicGroup(group_id, self._services, state=ClassicGroupState.STABLE, generation_id=generation_id)
        self._groups.add(group)
        return group

    def _join_created(self, group_id: str, joining: Joining) -> CoordinatorResult[Any]:
        """Serve the JoinGroup of the first member of a new group."""
        return self._joins.join(self.create(group_id), joining, created=True)

    def existing_or_created(self, group_id: str) -> Group:
        """Return the group of an id; if there is none, add an empty one for a client that only commits."""
        group = self._groups.get(group_id)
        return self.create(group_id) if group is None else group

    def _server(self, group: Group) -> ServesClassicProtocol | None:
        """Return the server of a group of another type, None if classic members cannot join it.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND in 3.7's preview.
        """
        if self._refuses_other_types:
            raise other_type(ClassicGroup, group.group_id)
        return self.servers.get(group.type)

    # Requests.

    def join(
        self, request: JoinGroupRequest, client: ClientInfo, response: ParkedResponse[JoinGroupResponse]
    ) -> CoordinatorResult[Any]:
        """Serve JoinGroup; a member without an id creates the group. Mirrors classicGroupJoin."""
        joining = Joining(request, client, response)
        group = self._groups.get(request.group_id)
        if group is None:
            if request.member_id != NO_MEMBER_ID:
                return joining.refuse(_UNKNOWN, request.member_id)
            return self._join_created(request.group_id, joining)
        if isinstance(group, ClassicGroup):
            return self._joins.join(group, joining, created=False)
        try:
            server = self._server(group)
        except CoordinatorError as error:
            return joining.refuse(error.error_code, request.member_id)
        if group.is_empty() and group.type in self._convertible_types:
            return self._convert_empty(group, joining)
        if server is None:
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, NO_MEMBER_ID)
        return server.classic_join(group, joining)

    def _convert_empty(self, group: Group, joining: Joining) -> CoordinatorResult[Any]:
        """Replace an empty group of another type by a classic one.

        As in Kafka, an unknown member removes the group from the newest state too, without a record of it: reads of the
        committed state still find it until the shard's next record, and it is back when the partition is loaded.
        """
        tombstones = group.tombstones()
        self._groups.remove(group.group_id)
        if joining.request.member_id != NO_MEMBER_ID:
            return joining.refuse(_UNKNOWN, joining.request.member_id)
        result = self._join_created(group.group_id, joining)
        return result._replace(records=[*tombstones, *result.records], replay=False)

    def sync(
        self, request: SyncGroupRequest, client: ClientInfo, response: ParkedResponse[SyncGroupResponse]
    ) -> CoordinatorResult[Any]:
        """Serve SyncGroup. Mirrors classicGroupSync.

        Raises:
            CoordinatorError: The group refuses the request.
        """
        group = self._groups.get(request.group_id)
        if isinstance(group, ClassicGroup) and not group.is_empty():
            return self._syncs.sync(group, request, response)
        server = None if group is None or isinstance(group, ClassicGroup) else self._server(group)
        if group is None or server is None or group.is_empty():
            raise CoordinatorError(_UNKNOWN)
        return server.classic_sync(group, request, client, response)

    def heartbeat(self, request: HeartbeatRequest, client: ClientInfo) -> CoordinatorResult[ErrorCode]:
        """Serve Heartbeat. Mirrors classicGroupHeartbeat.

        Raises:
            CoordinatorError: The group refuses the request.
        """
        group = self._groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._syncs.heartbeat(group, request)
        server = None if group is None else self._server(group)
        if server is None:
            raise CoordinatorError(_UNKNOWN, f"Group {request.group_id} not found.")
        return server.classic_heartbeat(group, request, client)

    def leave(self, group_id: str, members: Sequence[MemberIdentity]) -> CoordinatorResult[LeaveGroupResponse]:
        """Serve LeaveGroup. Mirrors classicGroupLeave.

        Raises:
            CoordinatorError: The group is dead, or UNKNOWN_MEMBER_ID: there is none.
        """
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return self._leaving.leave(group, members)
        server = None if group is None else self._server(group)
        if server is None:
            raise CoordinatorError(_UNKNOWN, f"Group {group_id} not found.")
        return server.classic_leave(group, members)

    # The shard.

    @property
    def replays(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The records of classic groups."""
        return {GroupMetadataKey: self._replay}

    def _replay(self, record: Replayed) -> None:
        group_id, value = record.key.group, record.value
        if value is None:
            self._groups.remove(group_id)
            return
        group = ClassicGroup(
            group_id,
            self._services,
            state=ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY,
            generation_id=value.generation,
            embedded_protocol=value.protocol_type or None,
            protocol_name=value.protocol,
            leader_id=value.leader,
        )
        group.state_timestamp_ms = None if value.current_state_timestamp < 0 else value.current_state_timestamp
        for member in value.members:
            group.add(_loaded_member(value, member))
        group.topics = group.compute_topics()
        self._groups.add(group)

    def loaded(self) -> None:
        """Give each member a new session; a group that is larger than the limit now rebalances."""
        limit = group_limit(self._context.config, "group.max.size", UNLIMITED)
        for group in self._groups.all_of(ClassicGroup):
            for member in group.members.values():
                self.rebalances.restart_session(group, member)
            if len(group.members) > limit:
                self.rebalances.prepare(group, f"loaded with {len(group.members)} members, {limit} are allowed")

    def unloaded(self) -> None:
        """Send NOT_COORDINATOR to the members that wait."""
        for group in self._groups.all_of(ClassicGroup):
            group.transition_to(ClassicGroupState.DEAD)
            for member in group.members.values():
                group.complete_join(member, join_refusal(ErrorCode.NOT_COORDINATOR, member.member_id))
                group.complete_sync(member, sync_refusal(ErrorCode.NOT_COORDINATOR))

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Do nothing: the leaders of classic groups watch the topics."""

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Do nothing: no record of a classic group is transactional."""


def _loaded_member(value: GroupMetadataValue, member: MemberMetadata) -> ClassicMember:
    return ClassicMember(
        member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout,
        session_timeout_ms=member.session_timeout,
        protocol_type=value.protocol_type,
        protocols=((value.protocol or "", bytes(member.subscription)),),
        assignment=bytes(member.assignment),
    )
