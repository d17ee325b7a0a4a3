"""Requests of classic groups as cases need them, and members that hold a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol_specs.uuids import ZERO_UUID
from tests.differential.probe import RESPONSE_SECONDS, Connection, Parked, Probe, attempts
from tests.differential.requests import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocol_specs.message import Message

GROUP_COORDINATOR: Final = 0
OFFSETS_TOPIC: Final = "__consumer_offsets"
MEMBER_ID_REQUIRED: Final = 79

NO_DELAY: Final = (("group.initial.rebalance.delay.ms", "0"), ("group.min.session.timeout.ms", "100"))
"""Groups do not wait for further members, and sessions may be short."""


def subscription(*topics: str, version: int = 0, user_data: bytes | None = None) -> bytes:
    """The metadata of a consumer that subscribes to topics (ConsumerProtocolSubscription, versions 0 and 1)."""
    names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in topics)
    data = b"\xff\xff\xff\xff" if user_data is None else len(user_data).to_bytes(4, "big") + user_data
    owned = b"\0\0\0\0" if version >= 1 else b""
    return version.to_bytes(2, "big") + len(topics).to_bytes(4, "big") + names + data + owned


def offering(*names: str, note: bytes = b"") -> tuple[tuple[str, bytes], ...]:
    """Protocols of a consumer without topics; `note` distinguishes equal ones."""
    return tuple((name, subscription(user_data=name.encode() + note)) for name in names)


RANGE: Final = offering("range")


def group_of(probe: Probe, suffix: str = "g") -> str:
    """Return the id of a group of the case's own, once the broker has loaded all groups that it coordinates."""
    group = f"{probe.name}-{suffix}"
    for _ in attempts("a group coordinator"):
        response: Any = probe.quiet(FindCoordinatorRequest(key=group, key_type=GROUP_COORDINATOR), 3)
        if response.error_code == 0:
            described: Any = probe.quiet(metadata(OFFSETS_TOPIC), 12)
            probe.normaliser.know_topic(OFFSETS_TOPIC, described.topics[0].topic_id)
            break
    # A coordinator that is found may not have loaded its partitions yet, and a case has more groups than this one.
    partitions = described.topics[0].partitions
    led = {each.partition_index for each in partitions if probe.addresses.get(each.leader_id) == probe.address}
    for awaited in (group, *(_group_in(probe, partition, len(partitions)) for partition in sorted(led))):
        for _ in attempts(f"the coordinator of {awaited} to be loaded"):
            loaded: Any = probe.quiet(fetch_offsets(awaited), 7)
            if loaded.error_code == 0:
                break
    return group


def _group_in(probe: Probe, partition: int, partitions: int) -> str:
    """Return the id of a group that a partition of the coordinator would have."""
    names = (f"{probe.name}-{number}" for number in count())
    return next(name for name in names if partition_for(name, partitions) == partition)


def join(
    group: str,
    *,
    member_id: str = "",
    instance: str | None = None,
    protocols: Sequence[tuple[str, bytes]] = RANGE,
    protocol_type: str = "consumer",
    session_ms: int = 60_000,
    rebalance_ms: int = 60_000,
    reason: str | None = None,
) -> JoinGroupRequest:
    """A JoinGroup of one member."""
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
        reason=reason,
    )


def sync(
    group: str,
    generation: int,
    member_id: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    protocol_type: str | None = "consumer",
    protocol: str | None = "range",
) -> SyncGroupRequest:
    """A SyncGroup; a leader gives the assignments, by member id."""
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in (assignments or {}).items()
        ],
    )


def heartbeat(group: str, generation: int, member_id: str, *, instance: str | None = None) -> HeartbeatRequest:
    """A Heartbeat of one member."""
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance)


def leave(group: str, *members: tuple[str, str | None], member_id: str = "", reason: str | None = None) -> Message:
    """A LeaveGroup of members (id and instance); `member_id` is the one of versions 0 to 2."""
    identities = [
        MemberIdentity(member_id=name, group_instance_id=instance, reason=reason) for name, instance in members
    ]
    return LeaveGroupRequest(
        group_id=group, member_id=member_id or (members[0][0] if members else ""), members=identities
    )


def commit(
    group: str,
    *topics: tuple[str, Mapping[int, int]],
    generation: int = -1,
    member_id: str = "",
    instance: str | None = None,
    metadata_text: str | None = "",
    leader_epoch: int = -1,
    retention_ms: int = -1,
    timestamp: int = -1,
    ids: Mapping[str, bytes] | None = None,
) -> OffsetCommitRequest:
    """An OffsetCommit: topics with offsets by partition; `ids` are the topics' ids for version 10."""
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance,
        retention_time_ms=retention_ms,
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                topic_id=(ids or {}).get(name, ZERO_UUID),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=leader_epoch,
                        commit_timestamp=timestamp,
                        committed_metadata=metadata_text,
                    )
                    for index, offset in offsets.items()
                ],
            )
            for name, offsets in topics
        ],
    )


def fetch_offsets(
    group: str,
    *topics: tuple[str, Sequence[int]],
    everything: bool = False,
    require_stable: bool = False,
    member_id: str | None = None,
    member_epoch: int = -1,
    ids: Mapping[str, bytes] | None = None,
) -> OffsetFetchRequest:
    """An OffsetFetch of one group in either form; `everything` requests all its topics."""
    old = [OffsetFetchRequestTopic(name=name, partition_indexes=list(indexes)) for name, indexes in topics]
    new = [
        OffsetFetchRequestTopics(name=name, topic_id=(ids or {}).get(name, ZERO_UUID), partition_indexes=list(indexes))
        for name, indexes in topics
    ]
    return OffsetFetchRequest(
        group_id=group,
        topics=None if everything else old,
        groups=[
            OffsetFetchRequestGroup(
                group_id=group, member_id=member_id, member_epoch=member_epoch, topics=None if everything else new
            )
        ],
        require_stable=require_stable,
    )


def describe_groups(*groups: str, include_authorized_operations: bool = False) -> DescribeGroupsRequest:
    """A DescribeGroups."""
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=include_authorized_operations)


def list_own_groups(
    probe: Probe, version: int, *, states: Sequence[str] = (), types: Sequence[str] = (), note: str = ""
) -> Any:
    """Exchange a ListGroups, of which the case's own groups are recorded.

    It concerns every coordinator of the broker: after a start some may not be loaded yet.
    """

    def own(response: Any) -> Any:
        groups = [each for each in response["groups"] if each["groupId"].startswith(probe.name)]
        return response | {"groups": sorted(groups, key=lambda each: each["groupId"])}

    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    for _ in attempts("every coordinator to be loaded"):
        listed: Any = probe.quiet(request, version)
        if isinstance(listed, str) or listed.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    return probe.exchange(request, version, only=own, note=note)


def await_state(probe: Probe, group: str, *states: str, seconds: float = RESPONSE_SECONDS) -> Any:
    """Wait until a classic group is in one of the states; return its description."""
    for _ in attempts(f"{group} to be {' or '.join(states)}", seconds=seconds):
        described: Any = probe.quiet(describe_groups(group), 5)
        if described.groups[0].group_state in states:
            return described.groups[0]
    return None


def await_members(probe: Probe, group: str, count: int, *, seconds: float = RESPONSE_SECONDS) -> None:
    """Wait until a classic group has so many members."""
    for _ in attempts(f"{group} to have {count} members", seconds=seconds):
        described: Any = probe.quiet(describe_groups(group), 5)
        if len(described.groups[0].members) == count:
            return


@dataclass(slots=True)
class Member:
    """A member of a classic group on a connection of its own: every request is recorded, ids are learned."""

    probe: Probe
    group: str
    instance: str | None = None
    protocols: Sequence[tuple[str, bytes]] = RANGE
    protocol_type: str = "consumer"
    session_ms: int = 60_000
    rebalance_ms: int = 60_000
    broker: int = 1
    id: str = ""
    generation: int = -1
    leader: str = ""
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.probe.connect(self.broker)

    @property
    def join_request(self) -> JoinGroupRequest:
        """The JoinGroup that it would send now."""
        return join(
            self.group,
            member_id=self.id,
            instance=self.instance,
            protocols=self.protocols,
            protocol_type=self.protocol_type,
            session_ms=self.session_ms,
            rebalance_ms=self.rebalance_ms,
        )

    def join(self, version: int = 9, *, note: str = "") -> Any:
        """Join, with a second request if the coordinator requires a member id."""
        response = self.finish_join(self.start_join(version, note=note))
        if response.error_code == MEMBER_ID_REQUIRED:
            response = self.finish_join(
                self.start_join(version, note=f"{note}, with the id" if note else "with the id")
            )
        return response

    def start_join(self, version: int = 9, *, note: str = "") -> Parked:
        """Send a JoinGroup, whose response may be long in coming."""
        return self.probe.start(self.join_request, version, on=self.connection, note=note)

    def finish_join(self, parked: Parked, *, seconds: float = RESPONSE_SECONDS) -> Any:
        """Receive the response to a JoinGroup; learn the id and the generation."""
        response = self.probe.finish(parked, seconds=seconds)
        if response.error_code in {0, MEMBER_ID_REQUIRED}:
            self.id = response.member_id
            self.generation, self.leader = response.generation_id, response.leader
        return response

    def learn_id(self) -> None:
        """Get an id from the coordinator, without joining."""
        response: Any = self.probe.exchange(self.join_request, 9, on=self.connection)
        self.id = response.member_id

    def start_sync(self, assignments: Mapping[str, bytes] | None = None, version: int = 5, *, note: str = "") -> Parked:
        """Send a SyncGroup, whose response comes when the leader has sent its own."""
        request = sync(
            self.group,
            self.generation,
            self.id,
            assignments,
            instance=self.instance,
            protocol_type=self.protocol_type,
            protocol=self.protocols[0][0],
        )
        return self.probe.start(request, version, on=self.connection, note=note)

    def sync(self, assignments: Mapping[str, bytes] | None = None, version: int = 5, *, note: str = "") -> Any:
        """Sync and receive the assignment."""
        return self.probe.finish(self.start_sync(assignments, version, note=note))

    def heartbeat(self, version: int = 4, *, note: str = "") -> Any:
        """Send a Heartbeat."""
        request = heartbeat(self.group, self.generation, self.id, instance=self.instance)
        return self.probe.exchange(request, version, on=self.connection, note=note)

    def leave(self, version: int = 5, *, note: str = "") -> Any:
        """Leave the group."""
        return self.probe.exchange(leave(self.group, (self.id, self.instance)), version, on=self.connection, note=note)

    def commit(self, *topics: tuple[str, Mapping[int, int]], version: int = 9, note: str = "", **options: Any) -> Any:
        """Commit offsets in its generation."""
        request = commit(
            self.group,
            *topics,
            **({"generation": self.generation, "member_id": self.id, "instance": self.instance} | options),
        )
        return self.probe.exchange(request, version, on=self.connection, note=note)


def stable_pair(probe: Probe, group: str, **options: Any) -> tuple[Member, Member]:
    """Return two members of a stable group, the leader first, whose joins are recorded."""
    first = Member(probe, group, **options)
    first.join()
    second = Member(probe, group, **options)
    second.learn_id()
    parked = second.start_join()
    await_state(probe, group, "PreparingRebalance")
    first.join(note="again")
    second.finish_join(parked)
    waiting = second.start_sync()
    first.sync({first.id: b"of the first", second.id: b"of the second"})
    probe.finish(waiting)
    return first, second


def stable_one(probe: Probe, group: str, **options: Any) -> Member:
    """Return the only member of a stable group."""
    member = Member(probe, group, **options)
    member.join()
    member.sync({member.id: b"assignment"})
    return member
