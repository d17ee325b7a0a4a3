"""A member of a classic group on virtual time: it joins, syncs, heartbeats, commits, and recovers from every error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker_sim.coordinators.groups.classic.group_bench import GROUP, REBALANCE_MS, SESSION_MS, subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.groups.classic.group_bench import GroupBench

PARTITIONS: Final = 5
TOPIC: Final = "t"
HEARTBEAT_MS: Final = 1_000
RETRY_MS: Final = 200
REQUEST_MS: Final = 3_000
JOIN_MS: Final = REBALANCE_MS + 5_000


class Commits:
    """All commits of a group's members, in the order in which they were sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []
        """Partition and generation; the offset is the place in the list."""
        self.acknowledged: list[int] = []

    def of(self, partition: int) -> list[int]:
        """The acknowledged offsets of a partition."""
        return [offset for offset in self.acknowledged if self.sent[offset][0] == partition]


class GroupClient:
    """One member; what it sends fails after a time-out, as on a connection that is lost."""

    def __init__(self, bench: GroupBench, name: str, commits: Commits, *, static: bool) -> None:
        self.name = name
        self.instance = name if static else None
        self.alive = True
        self.member_id = ""
        self.generation_id = -1
        self.owned: list[int] | None = None
        """The partitions that are assigned; None outside a generation."""
        self.leads = False
        self.version = 0
        self._bench = bench
        self._commits = commits
        self._attempt = 0
        self._join()

    # Faults.

    def crash(self) -> None:
        """Stop without a request to the coordinator."""
        self.alive = False
        self._lose_generation()

    def leave(self) -> None:
        """Leave the group, if the coordinator can be reached."""
        members = [MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)]
        self._bench.send_if_running(LeaveGroupRequest(group_id=GROUP, members=members), 5)
        self.crash()

    def pause(self) -> None:
        """Send and receive nothing until `resume`."""
        self._attempt += 1

    def resume(self) -> None:
        """Go on where the pause began, as after a long collection of garbage."""
        self._attempt += 1
        if self.owned is None:
            self._join()
        else:
            self._commit()
            self._heartbeat()

    def change(self) -> None:
        """Join again with other metadata."""
        self.version += 1
        self._attempt += 1
        self._join()

    # The protocol.

    def _send(self, request: Any, version: int, received: Callable[[Any], None], timeout_ms: int) -> None:
        self._attempt += 1
        attempt = self._attempt
        sent = self._bench.send_if_running(request, version)

        def once(response: Any) -> None:
            if self.alive and self._attempt == attempt:
                self._attempt += 1
                received(response)

        if sent is None:
            self._later(RETRY_MS, self._join)
            return
        sent.then(once)
        self._bench.reactor.callLater(timeout_ms / 1000, self._give_up, attempt)

    def _give_up(self, attempt: int) -> None:
        if self.alive and self._attempt == attempt:
            self._join()

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._attempt += 1
        attempt = self._attempt

        def act() -> None:
            if self.alive and self._attempt == attempt:
                action()

        self._bench.reactor.callLater(delay_ms / 1000, act)

    def _lose_generation(self) -> None:
        self.owned = None
        self.leads = False

    def _recover(self, error_code: int) -> None:
        """Join again after an error; a member that the coordinator does not know needs another id."""
        if error_code == ErrorCode.FENCED_INSTANCE_ID:
            self.crash()
            return
        if error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        self._later(RETRY_MS, self._join)

    def _join(self) -> None:
        self._lose_generation()
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(TOPIC) + bytes([self.version]))],
        )
        self._send(request, 9, self._joined, JOIN_MS)

    def _joined(self, response: Any) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._join()
            return
        if response.error_code:
            self._recover(response.error_code)
            return
        self.member_id = response.member_id
        self.generation_id = response.generation_id
        self.leads = response.leader == response.member_id
        members = sorted(member.member_id for member in response.members)
        assignments = {
            member_id: [partition for partition in range(PARTITIONS) if partition % len(members) == place]
            for place, member_id in enumerate(members)
        }
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=bytes(owned))
                for member_id, owned in assignments.items()
                if not response.skip_assignment
            ],
        )
        self._send(request, 5, self._synced, JOIN_MS)

    def _synced(self, response: Any) -> None:
        if response.error_code:
            self._recover(response.error_code)
            return
        self.owned = list(response.assignment)
        self._later(HEARTBEAT_MS, self._heartbeat)

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        self._send(request, 4, self._heartbeat_received, REQUEST_MS)

    def _heartbeat_received(self, response: Any) -> None:
        if response.error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._later(RETRY_MS, self._heartbeat)
        elif response.error_code:
            self._recover(response.error_code)
        else:
            self._commit()
            self._later(HEARTBEAT_MS, self._heartbeat)

    def _commit(self) -> None:
        """Commit an offset of each partition, beside the heartbeats."""
        for partition in self.owned or ():
            offset = len(self._commits.sent)
            self._commits.sent.append((partition, self.generation_id))
            request = OffsetCommitRequest(
                group_id=GROUP,
                generation_id_or_member_epoch=self.generation_id,
                member_id=self.member_id,
                group_instance_id=self.instance,
                topics=[
                    OffsetCommitRequestTopic(
                        name=TOPIC,
                        partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)],
                    )
                ],
            )
            sent = self._bench.send_if_running(request, 8)
            if sent is not None:
                sent.then(lambda response, offset=offset: self._committed(response, offset))

    def _committed(self, response: Any, offset: int) -> None:
        if not response.topics[0].partitions[0].error_code:
            self._commits.acknowledged.append(offset)
