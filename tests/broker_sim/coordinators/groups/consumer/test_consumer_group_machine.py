"""A Hypothesis state machine: members of a consumer group that join, crash and leave, and a coordinator that moves.

No partition has two owners, epochs only grow, and no fenced member commits. At rest each partition has an owner.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker_sim.coordinators.groups.consumer.conftest import ConsumerBench

FENCED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
MEMBERS_MAX = 4
PARTITIONS = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
ROUND_MS = 1_100

places = st.integers(0, MEMBERS_MAX - 1)


class Member:
    """A client: it owns partitions until it has revoked them, and gives all up when it is fenced."""

    def __init__(self, bench: ConsumerBench, name: str) -> None:
        self.bench = bench
        self.name = name
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}

    def heartbeat(self) -> None:
        if self.epoch:
            response = self.bench.heartbeat(self.name, self.epoch, owned=self.owned)
        else:
            response = self.bench.join(self.name, "a", "b")
        if response.error_code in FENCED:
            self.epoch, self.owned = 0, {}
            return
        assert response.error_code == 0, response
        assert response.member_epoch >= self.epoch
        self.epoch = response.member_epoch
        assigned = self.bench.partitions(response)
        if assigned is not None:
            self.owned = assigned

    def commit(self, epoch: int) -> int:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=None)
        topic = OffsetCommitRequestTopic(name="a", partitions=[partition])
        request = OffsetCommitRequest(
            group_id="g", generation_id_or_member_epoch=epoch, member_id=self.name, topics=[topic]
        )
        response: Any = self.bench.api.exchange(request, 9)
        return int(response.topics[0].partitions[0].error_code)


class ConsumerGroupMachine(RuleBasedStateMachine):
    """The faults of a group's members and of its coordinator."""

    @initialize()
    def start(self) -> None:
        self.bench = ConsumerBench(release="4.3.1", config={})
        self.members: list[Member] = []
        self.count = 0
        self.group_epoch = 0
        self.leader_epoch = 0

    @rule()
    def join(self) -> None:
        if len(self.members) < MEMBERS_MAX:
            self.count += 1
            self.members.append(Member(self.bench, f"m{self.count}"))
            self.members[-1].heartbeat()

    @rule(place=places)
    def heartbeat(self, place: int) -> None:
        if self.members:
            self.members[place % len(self.members)].heartbeat()

    @rule(place=places)
    def leave(self, place: int) -> None:
        if self.members:
            member = self.members.pop(place % len(self.members))
            if member.epoch:
                assert self.bench.heartbeat(member.name, -1).error_code in (0, *FENCED)
                assert member.commit(member.epoch) != 0

    @rule(place=places)
    def crash(self, place: int) -> None:
        if self.members:
            self.members.pop(place % len(self.members))

    @rule()
    def move_the_coordinator(self) -> None:
        runtime = self.bench.broker.coordinators.groups.runtime
        self.leader_epoch += 1
        runtime.resigned(0)
        runtime.elected(0, self.leader_epoch)
        self.bench.wait(10)

    @rule(ms=st.sampled_from([500, 2_000, 30_000]))
    def wait(self, ms: int) -> None:
        self.bench.wait(ms)

    @rule(place=places)
    def commit_with_a_later_epoch(self, place: int) -> None:
        if self.members:
            member = self.members[place % len(self.members)]
            assert member.commit(member.epoch + 1) != 0

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.bench.group()
        if group is not None:
            assert group.group_epoch.get() >= self.group_epoch
            self.group_epoch = group.group_epoch.get()

    @invariant()
    def no_partition_has_two_members(self) -> None:
        group = self.bench.group()
        if group is not None:
            held = [
                (topic_id, partition)
                for member in group.members.values()
                for assignment in (member.assigned, member.pending_revocation)
                for topic_id, partitions in assignment.items()
                for partition in partitions
            ]
            assert len(held) == len(set(held))

    def teardown(self) -> None:
        """At rest every partition has one owner."""
        if self.members:
            for _ in range(60):
                for member in self.members:
                    member.heartbeat()
                self.bench.wait(ROUND_MS)
            owned = [
                (topic, partition)
                for member in self.members
                for topic, partitions in member.owned.items()
                for partition in partitions
            ]
            assert sorted(owned) == PARTITIONS
            assert {member.epoch for member in self.members} == {self.bench.group().group_epoch.get()}
        self.bench.api.cluster.close()


TestConsumerGroupMachine = ConsumerGroupMachine.TestCase
TestConsumerGroupMachine.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
