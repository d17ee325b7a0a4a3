"""Members of classic groups at a cluster on virtual time: their requests, and the responses that are parked."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from broker_sim.cluster import Cluster
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


GROUP = "crew"
SESSION_MS = 10_000
REBALANCE_MS = 20_000


def subscription(*topics: str) -> bytes:
    """The metadata of a consumer that subscribes to these topics."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


class Sent:
    """A request whose response may be parked."""

    def __init__(self, deferred: Any) -> None:
        self.response: Any = None
        self._received: list[Callable[[Any], None]] = []
        deferred.addCallback(self._responded)

    def _responded(self, response: Any) -> None:
        self.response = response
        for received in self._received:
            received(response)

    def then(self, received: Callable[[Any], None]) -> None:
        """Call `received` with the response, also if it is there already."""
        self._received.append(received)
        if self.response is not None:
            received(self.response)


class GroupBench:
    """A cluster whose `__consumer_offsets` has one partition, and the requests of a group's members."""

    def __init__(
        self, *, release: str = "4.3.1", brokers: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        self.reactor = VirtualReactor()
        settings = {"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": str(replicas)}
        delay = {} if release.startswith("0.10") else {"group.initial.rebalance.delay.ms": "50"}
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=brokers,
            config={**settings, **delay, **(config or {})},
            release=release,
            listen=False,
        )
        self.cluster.start()
        while self.call(FindCoordinatorRequest(key=GROUP), 0, broker_id=1).error_code:
            self.run(100)

    @property
    def coordinator(self) -> int:
        """The broker that coordinates all groups."""
        leader = self.cluster.leader_of("__consumer_offsets", 0)
        return 1 if leader is None else leader

    @property
    def group(self) -> ClassicGroup:
        """The group at its coordinator."""
        shard = self.cluster.brokers[self.coordinator].coordinators.groups.runtime.shard(0)
        assert shard is not None
        return shard.groups.existing_of(ClassicGroup, GROUP)

    def run(self, ms: int) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    def send(self, request: Any, version: int, *, client_id: str = "ann", broker_id: int | None = None) -> Sent:
        """Send a request, as it comes from the wire."""
        received = type(request).decode(version, request.encode(version))
        calls = PlainCalls(self.cluster.brokers[broker_id or self.coordinator])
        return Sent(calls.call(received, version, client_id=client_id))

    def send_if_running(self, request: Any, version: int) -> Sent | None:
        """Send a request to the coordinator; return None if its broker does not run."""
        coordinator = self.coordinator
        return self.send(request, version) if self.cluster.is_running(coordinator) else None

    def call(self, request: Any, version: int, *, client_id: str = "ann", broker_id: int | None = None) -> Any:
        """Return the response of a request, which comes within 100 ms, as it goes to the wire."""
        sent = self.send(request, version, client_id=client_id, broker_id=broker_id)
        self.run(100)
        assert sent.response is not None, "the request is parked"
        return type(sent.response).decode(version, sent.response.encode(version))

    # Requests.

    def join(
        self,
        member_id: str = "",
        *,
        version: int = 9,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = (("range", subscription("t")),),
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> Sent:
        """Send JoinGroup."""
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
        )
        sent = self.send(request, version)
        self.run(1)
        return sent

    def new_member(self, **options: Any) -> Sent:
        """Join with the id that the coordinator requires."""
        return self.join(self.join(**options).response.member_id, **options)

    def sync(
        self, joined: Any, assignments: Mapping[str, bytes] | None = None, *, version: int = 5, **fields: Any
    ) -> Sent:
        """Send SyncGroup for a response of JoinGroup."""
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        sent = self.send(request, version)
        self.run(1)
        return sent

    def heartbeat(self, joined: Any, *, version: int = 4) -> int:
        """Send Heartbeat, and return its error."""
        request = HeartbeatRequest(group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id)
        error_code: int = self.call(request, version).error_code
        return error_code

    def leave(self, *members: tuple[str, str | None]) -> list[int]:
        """Send LeaveGroup of members by id and instance id, and return their errors."""
        identities = [MemberIdentity(member_id=member_id, group_instance_id=name) for member_id, name in members]
        response = self.call(LeaveGroupRequest(group_id=GROUP, members=identities), 5)
        assert not response.error_code
        return [member.error_code for member in response.members]

    # Whole groups.

    def joined(self, count: int, *, instances: Sequence[str | None] | None = None, **options: Any) -> list[Any]:
        """Return the JoinGroup responses of members that join together, the leader's first."""
        names = instances or [None] * count
        ids = [name and "" for name in names]
        ids = [self.join(**options).response.member_id if each is None else each for each in ids]
        sent = [self.join(member_id, instance=name, **options) for member_id, name in zip(ids, names, strict=True)]
        self.run(100)
        responses = [each.response for each in sent]
        assert all(response is not None and not response.error_code for response in responses)
        return sorted(responses, key=lambda response: response.leader != response.member_id)

    def stable(self, count: int, **options: Any) -> list[Any]:
        """Return the JoinGroup responses of the members of a stable group, the leader's first."""
        responses = self.joined(count, **options)
        assignments = {member.member_id: b"of " + member.member_id.encode() for member in responses[0].members}
        sent = [self.sync(response, assignments if place == 0 else None) for place, response in enumerate(responses)]
        self.run(100)
        assert [each.response.error_code for each in sent] == [0] * count
        return responses

    def states(self) -> tuple[str, int]:
        """The state and the generation of the group."""
        return self.group.state.value, self.group.generation_id

    def delete(self) -> int:
        """Send DeleteGroups, and return the group's error."""
        error_code: int = self.call(DeleteGroupsRequest(groups_names=[GROUP]), 2).results[0].error_code
        return error_code

    def leave_at(self, broker_id: int, member_id: str) -> Any:
        """Return the response of a broker to LeaveGroup of one member."""
        return self.call(LeaveGroupRequest(group_id=GROUP, member_id=member_id), 2, broker_id=broker_id)

    def committed(self, topic: str, partition: int) -> int:
        """Return the committed offset of a partition."""
        topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])]
        response = self.call(OffsetFetchRequest(group_id=GROUP, topics=topics), 5)
        offset: int = response.topics[0].partitions[0].committed_offset
        return offset
