"""The part of a shard for the groups of one type: consumer, share or streams groups. Mirrors what the methods of
GroupMetadataManager for these types have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group_journal import GroupJournal
from broker_sim.coordinators.groups.group_registry import other_type
from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup
from broker_sim.coordinators.groups.modern.epoch_member import EpochMember
from broker_sim.coordinators.groups.modern.member_timers import MemberTimers
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.coordinators.groups.group import Group
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.modern.epoch_replay import EpochReplay
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.message import Message

__all__ = ["EpochGroups"]

G = TypeVar("G", bound=EpochGroup[Any, Any])
M = TypeVar("M", bound=EpochMember)
D = TypeVar("D")


class EpochGroups(ABC, Generic[G, M, D]):
    """Groups `G` with members `M`: lookup, timers, journal and descriptions `D`."""

    def __init__(
        self,
        context: ShardContext,
        groups: GroupRegistry,
        group_type: type[G],
        replay: EpochReplay[G, M],
        described_type: Callable[..., D],
    ) -> None:
        self._context = context
        self._groups = groups
        self._group_type = group_type
        self._replay = replay
        self._described_type = described_type
        self._journal = GroupJournal(context)
        self.timers = MemberTimers(context.timers, self._expire)

    # The interface of a shard's part.

    @property
    def replays(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The records of the groups."""
        return self._replay.handlers

    def loaded(self) -> None:
        """Start the session of each member, and the rebalance timers of those that must revoke partitions or tasks."""
        for group in self._groups.all_of(self._group_type):
            for member in group.members.values():
                self._start_session(group.group_id, member)
                self._set_rebalance_timer(group.group_id, member)

    def unloaded(self) -> None:
        """No request is parked here."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Let the groups that use these topics compare their metadata at the next heartbeat."""
        for group in self._groups.all_of(self._group_type):
            if group.uses_any(changed_topics | deleted_topics):
                group.request_metadata_refresh()

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Groups have no transactions."""

    # Groups.

    def _group_of_heartbeat(self, group_id: str, records: list[CoordinatorRecord], *, joins: bool) -> G:
        """Return the group of a heartbeat; a join creates it.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: there is no group, or one of another type.
        """
        group = self._groups.get(group_id)
        if isinstance(group, self._group_type):
            return group
        if group is None:
            if joins:
                return self._replay.new_group(group_id)
            name = self._group_type.type.value.capitalize()
            raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"{name} group {group_id} not found.")
        replacement = self._replacement(group, records) if joins else None
        if replacement is None:
            raise other_type(self._group_type, group_id)
        return replacement

    def _replacement(self, group: Group, records: list[CoordinatorRecord]) -> G | None:  # noqa: ARG002
        """Return a new group in place of one of another type, None if that one stays."""
        return None

    def check_size(self, group: G, member_id: str | None) -> None:
        """Raise if the group is full, unless the member is in it; None is a member that is not.

        Raises:
            CoordinatorError: GROUP_MAX_SIZE_REACHED.
        """
        kind = self._group_type.type.value
        limit = self._context.config[f"group.{kind}.max.size"]
        assert isinstance(limit, int)
        if len(group.members) >= limit and (member_id is None or member_id not in group.members):
            raise CoordinatorError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The {kind} group has reached its maximum capacity of {limit} members.",
            )

    # Members.

    def _start_session(self, group_id: str, member: M) -> None:
        self.timers.start_session(group_id, member.member_id, self._session_timeout_ms(group_id, member))

    @abstractmethod
    def _session_timeout_ms(self, group_id: str, member: M) -> int:
        """Return the time without heartbeats after which a member is removed."""

    def _set_rebalance_timer(self, group_id: str, member: M) -> None:
        """Limit the time of a member that must revoke partitions or tasks, and of no other."""
        if member.must_revoke:
            self.timers.start_rebalance(group_id, member.member_id, member.member_epoch, member.rebalance_timeout_ms)
        else:
            self.timers.stop_rebalance(group_id, member.member_id)

    def _expire(self, group_id: str, member_id: str, reason: str, epoch: int | None) -> CoordinatorResult[None]:
        """Remove the member of a timer if it is still there, and at this epoch."""
        group = self._groups.find(self._group_type, group_id)
        member: M | None = None if group is None else group.members.get(member_id)
        if group is None or member is None or epoch not in (None, member.member_epoch):
            return CoordinatorResult([], None)
        return self._remove(group, member, reason, None)

    @abstractmethod
    def _remove(self, group: G, member: M, reason: str, response: Any) -> CoordinatorResult[Any]:
        """Remove a member, which makes a new group epoch."""

    def report(self, group: G, old: M, new: M) -> None:
        """Journal that a member joins or gets another assignment."""
        if new.member_id not in group.members:
            self._journal.joined(
                group.group_id,
                new.member_id,
                client_id=new.client_id,
                client_host=new.client_host,
                group_instance_id=new.instance_id,
            )
        if new.assigned != old.assigned:
            self._journal.assigned(group.group_id, new.member_id, new.member_epoch, self._assignment_text(new))

    @abstractmethod
    def _assignment_text(self, member: M) -> str:
        """Return the assignment of a member for the journal."""

    # Descriptions.

    def describe(self, group_ids: Sequence[str], committed_offset: int) -> list[D]:
        """Describe groups as of an offset; a group that is unknown or of another type has an error."""
        described = []
        for group_id in group_ids:
            try:
                group = self._groups.existing_of(self._group_type, group_id, committed_offset)
            except CoordinatorError as error:
                explains = self._context.config.behaviour.descriptions_explain_errors
                message = error.message if explains else None
                described.append(
                    self._described_type(group_id=group_id, error_code=error.error_code, error_message=message)
                )
            else:
                described.append(self._described(group, committed_offset))
        return described

    @abstractmethod
    def _described(self, group: G, committed_offset: int) -> D:
        """Return the description of a group as of an offset."""
