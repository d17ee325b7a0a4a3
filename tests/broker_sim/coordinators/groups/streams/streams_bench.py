"""Members of a streams group at a cluster on virtual time, and the topologies that they send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_sim.cluster import Cluster
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest
from protocol_specs.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Mapping


GROUP = "counts"
TOPIC = "orders"


def internal(name: str, partitions: int = 0, factor: int = 0) -> TopicInfo:
    """An internal topic."""
    return TopicInfo(name=name, partitions=partitions, replication_factor=factor)


def topology(*, changelog: str | None = None, epoch: int = 0, source: str = TOPIC) -> Topology:
    """One subtopology that reads a topic, with or without state."""
    changelogs = [] if changelog is None else [internal(changelog)]
    return Topology(
        epoch=epoch,
        subtopologies=[Subtopology(subtopology_id="0", source_topics=[source], state_changelog_topics=changelogs)],
    )


class StreamsBench:
    """One topic `orders` of four partitions; groups assign at once unless `config` states otherwise."""

    def __init__(self, config: Mapping[str, str] | None = None) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=1,
            topics=[TopicSpec(name=TOPIC, partitions=4)],
            config={
                "offsets.topic.num.partitions": "1",
                "offsets.topic.replication.factor": "1",
                "group.streams.assignment.interval.ms": "0",
                "group.streams.initial.rebalance.delay.ms": "0",
                **(config or {}),
            },
            listen=False,
        )
        self.cluster.start()
        while self.call(FindCoordinatorRequest(key=GROUP), 0).error_code:
            self.run(100)

    def run(self, ms: int) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    def call(self, request: Any, version: int = 0) -> Any:
        """Return the response, encoded and decoded as on the wire."""
        received = type(request).decode(version, request.encode(version))
        deferred = PlainCalls(self.cluster.brokers[1]).call(received, version, client_id="ann")
        response: Any = self.reactor.run_until(deferred, deadline_ms=60_000)
        return type(response).decode(version, response.encode(version))

    def restart(self) -> None:
        """Stop the broker and start it again, so that it loads the group from the log."""
        self.reactor.run_until(self.cluster.restart(1), deadline_ms=60_000)
        self.run(1000)

    @property
    def group(self) -> StreamsGroup:
        """The group at its coordinator."""
        shard = self.cluster.brokers[1].coordinators.groups.runtime.shard(0)
        assert shard is not None
        return shard.groups.existing_of(StreamsGroup, GROUP)

    def describe(self) -> Any:
        """Return the description of the group."""
        return self.call(StreamsGroupDescribeRequest(group_ids=[GROUP])).groups[0]

    def member(self, member_id: str, process: str = "", shape: Topology | None = None) -> Member:
        """A member that has not joined."""
        return Member(self, member_id, process or f"process of {member_id}", shape or topology())


@dataclass
class Member:
    """A member that remembers its epoch and its tasks."""

    bench: StreamsBench
    id: str
    process: str
    shape: Topology
    epoch: int = 0
    active: dict[str, list[int]] = field(default_factory=dict)
    standby: dict[str, list[int]] = field(default_factory=dict)

    def join(self, **fields: Any) -> Any:
        """Join with every field."""
        usual: dict[str, Any] = {
            "topology": self.shape,
            "rebalance_timeout_ms": 10_000,
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "process_id": self.process,
            "client_tags": [],
        }
        return self.send(0, **(usual | fields))

    def report(self) -> Any:
        """Send a heartbeat that lists the assigned tasks as owned."""
        return self.beat(active_tasks=_ids(self.active), standby_tasks=_ids(self.standby), warmup_tasks=[])

    def beat(self, **fields: Any) -> Any:
        """Send a heartbeat with the member's epoch."""
        return self.send(self.epoch, **fields)

    def leave(self) -> Any:
        """Leave the group."""
        return self.send(-1)

    def send(self, epoch: int, **fields: Any) -> Any:
        """Send a heartbeat."""
        usual = {"group_id": GROUP, "member_id": self.id, "endpoint_information_epoch": 0}
        response = self.bench.call(StreamsGroupHeartbeatRequest(member_epoch=epoch, **(usual | fields)))
        if not response.error_code and epoch >= 0:
            self.epoch = response.member_epoch
            if response.active_tasks is not None:
                self.active = {each.subtopology_id: each.partitions for each in response.active_tasks}
                self.standby = {each.subtopology_id: each.partitions for each in response.standby_tasks}
        return response


def _ids(tasks: Mapping[str, list[int]]) -> list[TaskIds]:
    return [TaskIds(subtopology_id=name, partitions=partitions) for name, partitions in tasks.items()]
