"""A cluster on virtual time, and the requests of members and administrators of share groups."""

from __future__ import annotations

from typing import Any

from broker_sim.cluster import Cluster
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages import alter_share_group_offsets as altering
from protocol_specs.messages import delete_share_group_offsets as deleting
from protocol_specs.messages import describe_share_group_offsets as describing
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

GROUP = "g"


class ShareGroupsBench:
    """Topics `orders` of three partitions and `bills` of one; group `g`."""

    def __init__(self, **config: str) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=1,
            topics=[TopicSpec(name="orders", partitions=3), TopicSpec(name="bills")],
            config={
                "offsets.topic.num.partitions": "1",
                "share.coordinator.state.topic.num.partitions": "1",
                "share.coordinator.state.topic.min.isr": "1",
                "group.share.assignment.interval.ms": "0",
                **{name.replace("_", "."): value for name, value in config.items()},
            },
            listen=False,
        )
        self.cluster.start()
        self.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 4)
        self.call(FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAA:0"]), 6)
        self.run(200)

    def run(self, ms: int) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    def call(self, request: Any, version: int) -> Any:
        """Return the response of a request, encoded and decoded as on the wire."""
        received = type(request).decode(version, request.encode(version))
        deferred = PlainCalls(self.cluster.brokers[1]).call(received, version, client_id="tests")
        response: Any = self.reactor.run_until(deferred, deadline_ms=60_000)
        return type(response).decode(version, response.encode(version))

    def heartbeat(
        self, member: str, epoch: int, topics: list[str] | None = None, *, group: str = GROUP, rack: str | None = None
    ) -> Any:
        """Return the response of a ShareGroupHeartbeat, after its share partitions are initialized."""
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, rack_id=rack, subscribed_topic_names=topics
        )
        response = self.call(request, 1)
        self.run(100)
        return response

    def join(self, member: str, *topics: str) -> int:
        """Join, and return the epoch after the first assignment."""
        epoch = self.heartbeat(member, 0, list(topics)).member_epoch
        return self.heartbeat(member, epoch).member_epoch  # type: ignore[no-any-return]

    def held(self, response: Any) -> dict[str, list[int]] | None:
        """Return the assignment of a response by topic name."""
        if response.assignment is None:
            return None
        topics = self.cluster.controller.image.topics_by_id
        return {topics[each.topic_id].name: sorted(each.partitions) for each in response.assignment.topic_partitions}

    def describe(self, group: str = GROUP) -> Any:
        """Return the description of a group."""
        return self.call(ShareGroupDescribeRequest(group_ids=[group]), 1).groups[0]

    def offsets(self, **topics: list[int]) -> dict[tuple[str, int], tuple[int, int]]:
        """Return start offset and lag per partition; without topics of all."""
        wanted = [
            describing.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
        group = describing.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=wanted or None)
        [described] = self.call(describing.DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
        assert described.error_code == 0
        return {
            (topic.topic_name, each.partition_index): (each.start_offset, each.lag)
            for topic in described.topics
            for each in topic.partitions
        }

    def alter(self, topic: str, offsets: dict[int, int], *, group: str = GROUP) -> Any:
        """Return the response of an AlterShareGroupOffsets."""
        partitions = [
            altering.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
            for index, offset in offsets.items()
        ]
        topics = [altering.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)]
        return self.call(altering.AlterShareGroupOffsetsRequest(group_id=group, topics=topics), 0)

    def delete_offsets(self, *topics: str) -> Any:
        """Return the response of a DeleteShareGroupOffsets."""
        named = [deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
        return self.call(deleting.DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=named), 0)

    def delete_group(self) -> int:
        """Return the error of a DeleteGroups."""
        return self.call(DeleteGroupsRequest(groups_names=[GROUP]), 2).results[0].error_code  # type: ignore[no-any-return]

    @property
    def states(self) -> list[tuple[int, int]]:
        """Partition and start offset of each state that the share coordinator has."""
        shard = self.cluster.brokers[1].coordinators.share.runtime.shard(0)
        assert shard is not None
        return [(key.partition, state.start_offset) for key, state in shard.states.items()]
