"""Members of consumer groups that use the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Mirrors classicGroupJoinToConsumerGroup and its siblings. The generation is the member epoch; a member that must
rebalance gets REBALANCE_IN_PROGRESS and joins again within its rebalance time-out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import NO_MEMBER_ID
from broker_sim.coordinators.groups.classic.responses import join_refusal
from broker_sim.coordinators.groups.consumer.classic_formats import (
    assignment_to_bytes,
    owned_partitions,
    subscription_of,
)
from broker_sim.coordinators.groups.consumer.consumer_group import PROTOCOL_TYPE
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData
from broker_sim.coordinators.groups.consumer.member_lookup import (
    dynamic_member,
    held_static_member,
    joining_static_member,
)
from broker_sim.coordinators.groups.consumer.member_update import MemberUpdate
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.topic_partitions import each_partition
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.messages.join_group import JoinGroupResponse
from protocol_specs.messages.leave_group import LeaveGroupResponse, MemberResponse
from protocol_specs.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.groups.classic.classic_groups import ClassicGroups
    from broker_sim.coordinators.groups.classic.joining import Joining
    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
    from broker_sim.coordinators.groups.consumer.consumer_groups import ConsumerGroups
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.heartbeat import HeartbeatRequest
    from protocol_specs.messages.leave_group import MemberIdentity
    from protocol_specs.messages.sync_group import SyncGroupRequest

__all__ = ["ClassicMembers"]

_KNOWN_MEMBER_ID_SINCE: Final = 4


class ClassicMembers:
    """Serves the requests of classic members to consumer groups."""

    def __init__(self, context: ShardContext, consumers: ConsumerGroups, classic: ClassicGroups) -> None:
        self._context = context
        self._consumers = consumers
        self._classic = classic

    # Joining.

    def classic_join(self, group: ConsumerGroup, joining: Joining) -> CoordinatorResult[Any]:
        """Add or update a classic member.

        Raises:
            CoordinatorError: The group is full, the protocols do not fit, the member is unknown or fenced.
        """
        request = joining.request
        member_id = request.member_id or self._consumers.new_member_id()
        self._check_join(group, joining, member_id)
        dynamic = joining.group_instance_id is None
        if request.member_id == NO_MEMBER_ID and dynamic and joining.client.api_version >= _KNOWN_MEMBER_ID_SINCE:
            joining.response.complete(join_refusal(ErrorCode.MEMBER_ID_REQUIRED, member_id))
            return CoordinatorResult([], None)
        records: list[CoordinatorRecord] = []
        holder = group.static_member(joining.group_instance_id)
        if joining.group_instance_id is None:
            member = dynamic_member(group, member_id, create=True)
        elif request.member_id == NO_MEMBER_ID:
            member = joining_static_member(group, member_id, joining.group_instance_id, records, classic=True)
        else:
            member = held_static_member(group, member_id, joining.group_instance_id)
        update = self._update(group, joining, member, records)
        if holder is not None and self._consumers.migration.may_downgrade(group, [holder], replaced=True):
            return self._downgrade(group, holder, update, joining)
        updated = self._consumers.run(update)
        self._consumers.report(group, member, updated)
        return CoordinatorResult(
            records, None, on_committed=lambda error: self._joined(group.group_id, joining, updated, error)
        )

    def _check_join(self, group: ConsumerGroup, joining: Joining, member_id: str) -> None:
        if self._consumers.config.refuses_classic_members:
            raise CoordinatorError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"Cannot join the consumer group {group.group_id} with the classic protocol because the group "
                "migration is disabled.",
            )
        self._consumers.check_size(group, member_id)
        names = [name for name, _ in joining.protocols]
        if not group.supports_classic_protocols(joining.request.protocol_type, names):
            raise CoordinatorError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported."
            )

    def _update(
        self, group: ConsumerGroup, joining: Joining, member: ConsumerMember, records: list[CoordinatorRecord]
    ) -> MemberUpdate:
        try:
            subscription = subscription_of(joining.protocols[0][1])
        except ProtocolError as error:
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        request = joining.request
        new = replace(
            member,
            instance_id=member.instance_id if joining.group_instance_id is None else joining.group_instance_id,
            rack_id=subscription.rack_id or member.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms
            if joining.rebalance_timeout_ms == -1
            else joining.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(subscription.topics),
            subscribed_topic_regex="",
            client_id=joining.client.client_id,
            client_host=joining.client.client_host,
            classic=ClassicProtocolData(request.session_timeout_ms, joining.protocols),
        )
        return MemberUpdate(
            context=self._context,
            config=self._consumers.config,
            group=group,
            old=member,
            new=new,
            records=records,
            owned=owned_partitions(subscription, self._context.host.metadata_cache.image.topics),
            access=joining.client.access,
        )

    def _joined(self, group_id: str, joining: Joining, member: ConsumerMember, error: CoordinatorError | None) -> None:
        if error is not None:
            return
        timers = self._consumers.timers
        timers.stop_join(group_id, member.member_id)
        timers.start_session(group_id, member.member_id, joining.request.session_timeout_ms)
        timers.start_sync(group_id, member.member_id, joining.rebalance_timeout_ms)
        joining.response.complete(_join_response(member))

    def _downgrade(
        self, group: ConsumerGroup, holder: ConsumerMember, update: MemberUpdate, joining: Joining
    ) -> CoordinatorResult[Any]:
        """The last member of the consumer protocol becomes classic: so does the group.

        A group whose target assignment is older than its epoch rebalances; its members are not reconciled any more.
        """
        update.record_member()
        update.bump_epoch()
        epoch, target = group.assignment_epoch.get(), group.target_of(holder.member_id)
        timed = self._consumers.config.behaviour.groups_time_their_assignments
        is_stale = epoch < update.group_epoch if timed else update.topics_changed
        updated = update.new if is_stale else update.reconcile(epoch, target)
        classic = self._consumers.migration.downgrade(group, [holder], updated, update.records)
        self._consumers.timers.stop_all(group.group_id, holder.member_id)
        if is_stale:
            self._classic.rebalances.prepare(classic, "a static member has replaced one of the consumer protocol")

        def committed(error: CoordinatorError | None) -> None:
            if error is None:
                joining.response.complete(_join_response(updated))

        return CoordinatorResult(update.records, None, on_committed=committed, replay=False)

    # The other requests.

    def classic_sync(
        self,
        group: ConsumerGroup,
        request: SyncGroupRequest,
        client: ClientInfo,  # noqa: ARG002
        response: ParkedResponse[SyncGroupResponse],
    ) -> CoordinatorResult[Any]:
        """Return the assignment of a member.

        Raises:
            CoordinatorError: The member is unknown or fenced, of another generation or protocol, or must rejoin.
        """
        member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        name, metadata = classic.protocols[0]
        if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, name):
            raise CoordinatorError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        timers, group_id = self._consumers.timers, group.group_id
        if self._is_behind(group, member) and member.state is not MemberState.UNREVOKED_PARTITIONS:
            timers.start_join_unless_running(group_id, member.member_id, member.rebalance_timeout_ms)
            raise CoordinatorError(ErrorCode.REBALANCE_IN_PROGRESS)
        topics = self._context.host.metadata_cache.image.topics_by_id

        def committed(error: CoordinatorError | None) -> None:
            if error is not None:
                return
            timers.stop_sync(group_id, member.member_id)
            timers.start_session(group_id, member.member_id, classic.session_timeout_ms)
            response.complete(
                SyncGroupResponse(
                    protocol_type=request.protocol_type,
                    protocol_name=request.protocol_name,
                    assignment=assignment_to_bytes(member.assigned, topics, metadata),
                )
            )

        return CoordinatorResult([], None, on_committed=committed, replay=False)

    def classic_heartbeat(
        self,
        group: ConsumerGroup,
        request: HeartbeatRequest,
        client: ClientInfo,  # noqa: ARG002
    ) -> CoordinatorResult[ErrorCode]:
        """Extend a session; REBALANCE_IN_PROGRESS if the member must join again.

        Raises:
            CoordinatorError: The member is unknown or fenced, or of another generation.
        """
        member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        timers, group_id = self._consumers.timers, group.group_id
        timers.start_session(group_id, member.member_id, classic.session_timeout_ms)
        released = member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, member)
        must_join = self._is_behind(group, member) or released
        if must_join or member.state is MemberState.UNREVOKED_PARTITIONS:
            timers.start_join_unless_running(group_id, member.member_id, member.rebalance_timeout_ms)
            return CoordinatorResult([], ErrorCode.REBALANCE_IN_PROGRESS)
        return CoordinatorResult([], ErrorCode.NONE)

    def _is_behind(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        """Return True if the member must join again to reach a newer epoch."""
        rejoins_for_assignments = self._consumers.config.behaviour.classic_members_rejoin_for_assignments
        newest = group.assignment_epoch if rejoins_for_assignments else group.group_epoch
        return member.member_epoch < newest.get()

    def classic_leave(
        self, group: ConsumerGroup, members: Sequence[MemberIdentity]
    ) -> CoordinatorResult[LeaveGroupResponse]:
        """Remove members, also those of the consumer protocol; each has an error of its own."""
        leaving: dict[str, ConsumerMember] = {}
        responses = []
        for identity in members:
            # The response repeats the ids of the request: without a member id if an instance id alone names the member.
            member_id, instance_id = identity.member_id, identity.group_instance_id
            error_code = ErrorCode.NONE
            try:
                member = _leaving_member(group, member_id, instance_id)
                leaving[member.member_id] = member
            except CoordinatorError as error:
                error_code = error.error_code
            responses.append(MemberResponse(member_id=member_id, group_instance_id=instance_id, error_code=error_code))
        response = LeaveGroupResponse(members=responses)
        if not leaving:
            return CoordinatorResult([], response)
        return self._consumers.remove(group, list(leaving.values()), "the member left the group.", response)


def _join_response(member: ConsumerMember) -> JoinGroupResponse:
    assert member.classic is not None
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.classic.protocols[0][0],
    )


def _leaving_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """Return the member that leaves; an administrator names only its instance id."""
    if instance_id is not None and member_id == NO_MEMBER_ID:
        holder = group.static_member(instance_id)
        member_id = NO_MEMBER_ID if holder is None else holder.member_id
    if instance_id is None:
        return group.existing_member(member_id)
    return held_static_member(group, member_id, instance_id)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerMember, ClassicProtocolData]:
    if instance_id is None:
        member = group.existing_member(member_id)
    else:
        member = held_static_member(group, member_id, instance_id)
    if member.classic is None:
        raise CoordinatorError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    return member, member.classic


def _check_generation(member: ConsumerMember, generation_id: int) -> None:
    if generation_id != member.member_epoch:
        raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return True if another member still has a partition of the target. Mirrors waitingOnUnreleasedPartition."""
    held = set(each_partition(member.assigned))
    return any(
        partition not in held and not group.is_free(*partition)
        for partition in each_partition(group.target_of(member.member_id))
    )
