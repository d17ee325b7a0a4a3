"""Coordinators of groups that move between two brokers in drawn conversations; other topics are on the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.messages.create_partitions import CreatePartitionsAssignment, CreatePartitionsRequest
from protocol_specs.messages.create_topics import CreatableReplicaAssignment, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from tests.differential.cases.alter_partition_reassignments import reassign
from tests.differential.cases.create_topics import new
from tests.differential.cases.elect_leaders import elect
from tests.differential.group_records import SHARE_STATE_TOPIC
from tests.differential.group_requests import OFFSETS_TOPIC, fetch_offsets
from tests.differential.group_steps import ChangeStep
from tests.differential.probe import Connection, Probe, attempts
from tests.differential.requests import list_offsets, metadata
from tests.differential.transaction_moves import DEBUGGER
from tests.differential.transaction_requests import LOADING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from protocol_specs.message import Message
    from tests.differential.group_steps import GroupStep

__all__ = ["BROKERS", "MovingProbe", "place_internal_topics", "with_moves"]

BROKERS: Final = 2
HOME: Final = 1
"""The broker of all partitions that are not a coordinator's."""

PARTITIONS: Final = 3
MOVE_CHANCE: Final = 0.12
NOT_COORDINATOR: Final = 16
GROUP_FIELDS: Final = ("group_id", "groups_names", "group_ids", "groups")
OF_LEADERS: Final = ("ShareFetch", "ShareAcknowledge")
"""Requests with a group that its coordinator does not receive."""


def place_internal_topics(bootstrap: str, release: str, *, shares: bool) -> None:
    """Make the topics of coordinators, so that both sides have the same leaders."""
    probe = Probe(bootstrap, release=release, name="prepare")
    for topic in (OFFSETS_TOPIC, *([SHARE_STATE_TOPIC] if shares else [])):
        assigned = [(index, [index % BROKERS + 1, (index + 1) % BROKERS + 1]) for index in range(PARTITIONS)]
        made = new(topic, -1, -1, assigned=assigned, cleanup_policy="compact", segment_bytes="104857600")
        created: Any = probe.quiet(CreateTopicsRequest(topics=[made], timeout_ms=10_000), 5)
        assert created.topics[0].error_code == 0, created
    probe.close()


class MovingProbe(Probe):
    """Sends the requests of groups to their coordinators, and places new partitions on the first broker."""

    def quiet(self, request: Message, version: int, *, on: Connection | None = None) -> Message | str:
        """Exchange without recording: for preparations."""
        if isinstance(request, CreateTopicsRequest):
            for topic in request.topics:
                count, topic.num_partitions, topic.replication_factor = topic.num_partitions, -1, -1
                topic.assignments = [
                    CreatableReplicaAssignment(partition_index=index, broker_ids=[HOME]) for index in range(count)
                ]
        if isinstance(request, CreatePartitionsRequest):
            for enlarged in request.topics:
                added = enlarged.count - len(self._partitions(enlarged.name))
                enlarged.assignments = [CreatePartitionsAssignment(broker_ids=[HOME]) for _ in range(added)]
        broker = self.receiver(request)
        if on is not None or broker == HOME:
            response = super().quiet(request, version, on=on)
            self._await_everywhere(request)
            return response
        connection = self.connect(broker)
        response = super().quiet(request, version, on=connection)
        connection.close()
        return response

    def _await_everywhere(self, request: Message) -> None:
        """Wait until the other broker knows the topics that a request has changed, with so many partitions."""
        counts: dict[str, int] = {}
        if isinstance(request, CreateTopicsRequest):
            counts = {topic.name: len(topic.assignments) for topic in request.topics}
        elif isinstance(request, CreatePartitionsRequest):
            counts = {topic.name: topic.count for topic in request.topics}
        elif isinstance(request, DeleteTopicsRequest):
            counts = dict.fromkeys(request.topic_names, 0)
        if not counts:
            return
        connection = self.connect(BROKERS)
        for _ in attempts(f"{counts} at broker {BROKERS}"):
            described: Any = super().quiet(metadata(*counts), 12, on=connection)
            if {each.name: len(each.partitions) for each in described.topics} == counts:
                break
        connection.close()

    def receiver(self, request: Message) -> int:
        """Return the broker that receives a request: the coordinator of its group, or the first one."""
        named = next((getattr(request, name) for name in GROUP_FIELDS if hasattr(request, name)), "")
        first = named[0] if isinstance(named, list) and named else named
        group = getattr(first, "group_id", first)
        if request.NAME in OF_LEADERS or not isinstance(group, str) or not group:
            return HOME
        return self.leader(OFFSETS_TOPIC, partition_for(group, PARTITIONS))

    def leader(self, topic: str, partition: int) -> int:
        """Return the leader of a partition as the first broker knows it."""
        described: Any = super().quiet(metadata(topic), 12)
        return next(each.leader_id for each in described.topics[0].partitions if each.partition_index == partition)

    def move(self, topic: str, partition: int) -> None:
        """Let the other broker lead a partition of an internal topic; return when its coordinator serves.

        Up to 3.9 tombstones are appended with acks=0 and wait for a follower's next fetch: a move before it loses them.
        """
        former = self.leader(topic, partition)
        self.await_watermark(topic, partition)
        leader = BROKERS + 1 - former
        for _ in attempts(f"{topic} {partition} to move"):
            changed: Any = self.quiet(reassign((topic, {partition: [leader, former]})), 0)
            if not changed.error_code and not changed.responses[0].partitions[0].error_code:
                break
        for broker in range(1, BROKERS + 1):
            connection = self.connect(broker)
            for _ in attempts(f"leader {leader} of {topic} {partition} at broker {broker}"):
                self.quiet(elect((topic, [partition])), 2)
                described: Any = self.quiet(metadata(topic), 12, on=connection)
                if (partition, leader) in [
                    (each.partition_index, each.leader_id) for each in described.topics[0].partitions
                ]:
                    break
            connection.close()
        self.await_watermark(topic, partition)
        if topic == OFFSETS_TOPIC:
            key = next(key for key in map(str, range(1000)) if partition_for(key, PARTITIONS) == partition)
            self._await_error(key, former, lambda code: code == NOT_COORDINATOR)
            self._await_error(key, leader, lambda code: code not in LOADING)

    def await_watermark(self, topic: str, partition: int) -> None:
        """Wait until the leader knows that its log is replicated, which it may learn half a second late."""
        connection = self.connect(self.leader(topic, partition))
        for _ in attempts(f"the high watermark of {topic} {partition}"):
            ends = set()
            for replica_id in (-1, DEBUGGER):
                request = list_offsets(topic, -1, partition=partition, replica_id=replica_id)
                listed: Any = super().quiet(request, 5, on=connection)
                ends.add((listed.topics[0].partitions[0].error_code, listed.topics[0].partitions[0].offset))
            if len(ends) == 1 and min(ends)[0] == 0:
                break
        connection.close()

    def await_records(self, group: str) -> None:
        """Wait until the records of a group are replicated."""
        self.await_watermark(OFFSETS_TOPIC, partition_for(group, PARTITIONS))

    def _await_error(self, group: str, broker: int, reached: Any) -> None:
        connection = self.connect(broker)
        for _ in attempts(f"the coordinator of {group} at broker {broker}"):
            fetched: Any = super().quiet(fetch_offsets(group), 7, on=connection)
            if reached(fetched.error_code):
                break
        connection.close()


def with_moves(
    random: Random, group: str, steps: Sequence[GroupStep | ChangeStep], *, shares: bool
) -> list[GroupStep | ChangeStep]:
    """Return the steps with moves of the group's coordinator between them, and of those of share partitions."""

    def move(topic: str, partition: int) -> ChangeStep:
        def apply(side: Any) -> None:
            side.probe.move(topic, partition)

        return ChangeStep(note=f"moves {topic} {partition}", apply=apply)

    made: list[GroupStep | ChangeStep] = []
    for step in steps:
        made.append(step)
        if random.random() < MOVE_CHANCE:
            topic = SHARE_STATE_TOPIC if shares and random.random() < 0.4 else OFFSETS_TOPIC
            partition = random.randrange(PARTITIONS) if topic == SHARE_STATE_TOPIC else partition_for(group, PARTITIONS)
            made.append(move(topic, partition))
    return made
