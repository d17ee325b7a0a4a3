"""One classic group: its members, its protocol and its generation. Mirrors ClassicGroup.

A group is a plain mutable object: no snapshot keeps its earlier states. An operation that changes it finishes or undoes
the change when its records are committed or fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState, may_become
from broker_sim.coordinators.groups.classic.group_metadata_records import group_tombstone
from broker_sim.coordinators.groups.classic.member_table import MemberTable
from broker_sim.coordinators.groups.classic.protocol_votes import ProtocolCounts, most_voted
from broker_sim.coordinators.groups.classic.responses import join_refusal, sync_refusal
from broker_sim.coordinators.groups.classic.subscribed_topics import CONSUMER_PROTOCOL, subscribed_topics
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.group_journal import readable_assignment
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.coordinators.groups.classic.classic_member import ClassicMember, Protocols
    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from broker_sim.coordinators.groups.group_journal import GroupJournal
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from protocol_specs.messages.join_group import JoinGroupResponse
    from protocol_specs.messages.sync_group import SyncGroupResponse

__all__ = ["NO_MEMBER_ID", "ClassicGroup", "GroupServices"]

NO_MEMBER_ID: Final = ""

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD
_WITH_MEMBERS: Final = (_STABLE, _PREPARING, _COMPLETING)


class GroupServices:
    """The surroundings of the groups of one shard."""

    def __init__(
        self,
        *,
        now_ms: Callable[[], int],
        restart_session: Callable[[ClassicGroup, ClassicMember], None],
        old_coordinator: bool,
        journal: GroupJournal,
        awaited_assignment_state: str = ClassicGroupState.COMPLETING_REBALANCE.value,
    ) -> None:
        self.awaited_assignment_state = awaited_assignment_state
        self.journal = journal
        self.now_ms = now_ms
        self.restart_session = restart_session
        self.old_coordinator = old_coordinator


class ClassicGroup:
    """A group with its members in the order of the broker's hash table."""

    type: ClassVar[GroupType] = GroupType.CLASSIC

    def __init__(
        self,
        group_id: str,
        services: GroupServices,
        *,
        state: ClassicGroupState = ClassicGroupState.EMPTY,
        generation_id: int = 0,
        embedded_protocol: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicGroupState.DEAD
        self.generation_id = generation_id
        self.embedded_protocol = embedded_protocol
        """The protocol type, such as "consumer"; None until the first member joins."""
        self.protocol_name = protocol_name
        """The protocol that the members have voted for; None before the first generation."""
        self.leader_id = leader_id
        self.state_timestamp_ms: int | None = services.now_ms()
        """The time of the last change of the state; None if the group was loaded from a record without it."""
        self.members = MemberTable(of_scala=services.old_coordinator)
        self.pending_join_members: dict[str, None] = {}
        """The ids of members that must join again with the id that they received (KIP-394)."""
        self.pending_sync_members: dict[str, None] = {}
        """The ids of members that have not sent SyncGroup in this generation."""
        self.awaiting_join_count = 0
        self.new_member_added = False
        """A member has joined since the initial rebalance delay began: the delay may be extended."""
        self.topics: frozenset[str] | None = None
        """The topics to which the members subscribe; None if they are not known."""
        self.join_phase_failed = False
        """The join phase of the old coordinator has failed: nothing completes it any more."""
        self.rebalance_reason = ""
        """The reason of the last rebalance, for reports."""
        self._services = services
        self._static_members: dict[str, str] = {}
        self._protocols = ProtocolCounts()

    # Reports.

    def state_name(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return the state as ListGroups and DescribeGroups name it."""
        return self._services.awaited_assignment_state if self.state is _COMPLETING else self.state.value

    def protocol_type(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return the protocol type, "" if the group has none."""
        return self.embedded_protocol or ""

    def is_empty(self) -> bool:
        """Return True in the state Empty."""
        return self.state is _EMPTY

    @property
    def is_without_records(self) -> bool:
        """True if the log has no record of the group itself: it has had no generation."""
        return self.is_simple and not self.generation_id

    @property
    def is_simple(self) -> bool:
        """True for a group that exists only for its offsets."""
        return self.embedded_protocol is None and self.state is _EMPTY and not self.pending_join_members

    @property
    def uses_consumer_protocol(self) -> bool:
        """True if the members are consumers."""
        return self.embedded_protocol == CONSUMER_PROTOCOL

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance time-out of the members, 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def has_all_members_joined(self) -> bool:
        """True if every member has a parked JoinGroup, and no member id waits for its member."""
        return len(self.members) == self.awaiting_join_count and not self.pending_join_members

    @property
    def static_member_ids(self) -> list[str]:
        """The ids of the static members."""
        return list(self._static_members.values())

    def static_member_id(self, group_instance_id: str) -> str | None:
        """Return the id of the member that holds a group instance id, None if no member does."""
        return self._static_members.get(group_instance_id)

    def is_leader(self, member_id: str) -> bool:
        """Return True if the member leads the group."""
        return self.leader_id == member_id

    # Checks.

    def check_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Raise unless the member belongs to the group and holds its group instance id. Mirrors validateMember.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID.
        """
        if group_instance_id is not None:
            holder = self._static_members.get(group_instance_id)
            if holder is None:
                raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID)
            if holder != member_id:
                raise CoordinatorError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID)

    def check_offset_commit(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        transactional: bool,
        api_version: int,  # noqa: ARG002
    ) -> None:
        """Raise unless the member may commit offsets. Mirrors validateOffsetCommit.

        Without a generation the commit is from an administrator or a consumer outside groups, which an empty group
        permits. Transactional commits do not depend on the state: their early versions name no member.
        """
        if self.state is _DEAD:
            raise CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if member_epoch < 0 and self.state is _EMPTY:
            return
        if member_epoch >= 0 or member_id or group_instance_id is not None:
            self.check_member(member_id, group_instance_id)
            if member_epoch != self.generation_id:
                raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)
        elif not transactional and self.state is not _EMPTY:
            raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID)
        if not transactional and self.state is _COMPLETING:
            raise CoordinatorError(ErrorCode.REBALANCE_IN_PROGRESS)

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:  # noqa: ARG002
        """Raise if the group is dead. Mirrors validateOffsetFetch."""
        self._check_alive()

    def check_offset_delete(self) -> None:
        """Raise unless offsets may be deleted. Mirrors validateOffsetDelete."""
        self._check_alive()
        if self.state in _WITH_MEMBERS and not self.uses_consumer_protocol:
            raise CoordinatorError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        """Raise unless the group may be deleted. Mirrors validateDeleteGroup."""
        self._check_alive()
        if self.state in _WITH_MEMBERS:
            raise CoordinatorError(ErrorCode.NON_EMPTY_GROUP)

    def _check_alive(self) -> None:
        if self.state is _DEAD:
            raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")

    # Offsets and deletion.

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the record that deletes the group."""
        if self._services.old_coordinator and not self.generation_id:
            return []
        return [group_tombstone(self.group_id)]

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic, or if the topics are not known."""
        if self._services.old_coordinator and self.state is _EMPTY:
            return False
        if self.topics is None:
            return self._services.old_coordinator or self.uses_consumer_protocol
        return topic in self.topics

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time from which an offset's retention counts, None if it never expires."""
        if self.embedded_protocol is None:
            return commit_timestamp_ms
        if self.state is _EMPTY:
            return commit_timestamp_ms if self.state_timestamp_ms is None else self.state_timestamp_ms
        if self.uses_consumer_protocol and self.topics is not None and self.state is _STABLE:
            return commit_timestamp_ms
        return None

    def commit_received(self, member_id: str) -> None:
        """Restart the session of a member that has committed, in the states in which it has one."""
        if self.state in (_STABLE, _PREPARING):
            member = self.members.get(member_id)
            if member is not None:
                self._services.restart_session(self, member)

    # Members.

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return True if a member with these protocols can join: all members share one of them."""
        if self.state is _EMPTY:
            return bool(protocol_type) and bool(protocols)
        size = len(self.members)
        return self.embedded_protocol == protocol_type and any(
            self._protocols.count(name) == size for name, _ in protocols
        )

    def add(self, member: ClassicMember, response: ParkedResponse[JoinGroupResponse] | None = None) -> None:
        """Add a member whose JoinGroup is parked, if `response` is given; the first member leads the group."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self._static_members, (self.group_id, member.group_instance_id)
            self._static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.embedded_protocol = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._protocols.add(member)
        self._park_join(member, response)
        self.pending_join_members.pop(member.member_id, None)
        self._note_joined(member)

    def _note_joined(self, member: ClassicMember) -> None:
        self._services.journal.joined(
            self.group_id,
            member.member_id,
            client_id=member.client_id,
            client_host=member.client_host,
            group_instance_id=member.group_instance_id,
        )

    def update(
        self,
        member: ClassicMember,
        *,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        response: ParkedResponse[JoinGroupResponse] | None,
    ) -> None:
        """Replace the protocols and time-outs of a member, and park its JoinGroup."""
        self._protocols.remove(member)
        member.protocols = protocols
        self._protocols.add(member)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._park_join(member, response)

    def _park_join(self, member: ClassicMember, response: ParkedResponse[JoinGroupResponse] | None) -> None:
        self.awaiting_join_count += (response is not None) - (member.awaiting_join is not None)
        member.awaiting_join = response

    def remove(self, member_id: str, reason: str) -> None:
        """Remove a member or a pending member id; another member becomes the leader if it led the group."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._services.journal.removed(self.group_id, member_id, reason)
            self._protocols.remove(member)
            self._park_join(member, None)
            if member.group_instance_id is not None:
                self._static_members.pop(member.group_instance_id, None)
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        self.pending_join_members.pop(member_id, None)
        self.pending_sync_members.pop(member_id, None)

    def replace_static_member(self, group_instance_id: str, old_member_id: str, new_member_id: str) -> ClassicMember:
        """Give a static member a new id, and fence the requests that are parked for the old one."""
        member = self.members.pop(old_member_id)
        self.complete_join(member, join_refusal(ErrorCode.FENCED_INSTANCE_ID, old_member_id))
        self.complete_sync(member, sync_refusal(ErrorCode.FENCED_INSTANCE_ID))
        member.member_id = new_member_id
        self.members[new_member_id] = member
        if self.is_leader(old_member_id):
            self.leader_id = new_member_id
        self._static_members[group_instance_id] = new_member_id
        self._services.journal.removed(self.group_id, old_member_id, f"replaced by {new_member_id}")
        self._note_joined(member)
        return member

    def elect_joined_leader(self) -> bool:
        """Replace a leader that has not joined by a member that has; return False if no member has.

        Kafka takes the first one of a hash table. The order of arrival would prefer a client that has died in the join
        phase to the client that replaces it, and each such leader costs another session time-out.
        """
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaiting_join is not None:
            return True
        for member_id in self.members:
            if self.members[member_id].awaiting_join is not None:
                self.leader_id = member_id
                return True
        return False

    # Responses.

    def complete_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        """Send the response of a member's parked JoinGroup, if it has one."""
        parked = member.awaiting_join
        if parked is not None:
            self._park_join(member, None)
            parked.complete(response)

    def complete_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """Send the response of a member's parked SyncGroup; return False if it has none."""
        parked = member.awaiting_sync
        if parked is None:
            return False
        member.awaiting_sync = None
        parked.complete(response)
        return True

    # States.

    @property
    def can_rebalance(self) -> bool:
        """True if the group can go to the state PreparingRebalance."""
        return may_become(self.state, _PREPARING)

    def transition_to(self, state: ClassicGroupState) -> None:
        """Go to another state, at the present time."""
        assert may_become(self.state, state), (self.group_id, self.state, state)
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = self._services.now_ms()
        self._services.journal.state_changed(
            self.group_id,
            self.type,
            previous=self.previous_state.value,
            state=state.value,
            generation=self.generation_id,
            members=len(self.members),
            reason=self.rebalance_reason if state is _PREPARING else "",
        )

    def assign(self, member: ClassicMember, assignment: bytes) -> None:
        """Give a member its assignment."""
        member.assignment = assignment
        readable = readable_assignment(assignment, of_consumers=self.uses_consumer_protocol)
        self._services.journal.assigned(self.group_id, member.member_id, self.generation_id, readable)

    def select_protocol(self) -> str:
        """Return the protocol that the members vote for.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: the members have no protocol in common.
        """
        candidates = self._protocols.supported_by(len(self.members))
        return most_voted(self.members.values(), candidates, old_coordinator=self._services.old_coordinator)

    def begin_next_generation(self) -> None:
        """End the join phase: the members have a new generation and a protocol. Mirrors initNextGeneration.

        A group with malformed protocols or metadata stays in the join phase, as in Kafka.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: the members cannot vote, or their metadata cannot be read.
        """
        self.generation_id += 1
        try:
            self.protocol_name = self.select_protocol() if self.members else None
            self.topics = self.compute_topics()
        except CoordinatorError:
            self.join_phase_failed = self._services.old_coordinator
            raise
        self.transition_to(_COMPLETING if self.members else _EMPTY)
        self.pending_sync_members.clear()

    def compute_topics(self) -> frozenset[str] | None:
        """Return the topics to which the members subscribe, None if they are not known.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: the metadata of a member cannot be read.
        """
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(self._subscriptions())

    def _subscriptions(self) -> Iterable[bytes]:
        return [member.metadata(self.protocol_name) for member in self.members.values()]
