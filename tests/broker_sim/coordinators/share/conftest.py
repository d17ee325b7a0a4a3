"""A cluster on virtual time with a share coordinator, and requests to its five APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages import delete_share_group_state as delete
from protocol_specs.messages import initialize_share_group_state as initialize
from protocol_specs.messages import read_share_group_state as read
from protocol_specs.messages import read_share_group_state_summary as summary
from protocol_specs.messages import write_share_group_state as write
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_sim.coordinators.share.share_shard import ShareShard

GROUP = "g"


class ShareBench:
    """One topic `orders` of three partitions, and its share partitions in group `g`."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=1,
            topics=[TopicSpec(name="orders", partitions=3)],
            config={
                "share.coordinator.state.topic.num.partitions": "1",
                "share.coordinator.state.topic.min.isr": "1",
                **config,
            },
            listen=False,
        )
        self.cluster.start()
        self.topic_id = self.cluster.controller.image.topics["orders"].topic_id
        self.call(FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAA:0"]), 6)
        self.settle()

    def call(self, request: Any, version: int) -> Any:
        """Return the response, encoded and decoded as on the wire."""
        received = type(request).decode(version, request.encode(version))
        deferred = PlainCalls(self.cluster.brokers[1]).call(received, version)
        response: Any = self.reactor.run_until(deferred, deadline_ms=60_000)
        return type(response).decode(version, response.encode(version))

    def settle(self, ms: int = 100) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    @property
    def shard(self) -> ShareShard:
        """The shard of the topic's only partition."""
        shard = self.cluster.brokers[1].coordinators.share.runtime.shard(0)
        assert shard is not None
        return shard

    @property
    def log(self) -> Any:
        """The log of the state topic."""
        [partition] = [
            partition
            for name, partition in self.cluster.brokers[1].replica_manager.partitions.items()
            if name.topic == "__share_group_state"
        ]
        return partition.log

    def restart(self) -> None:
        """Stop the broker and start it again, so that it loads the shard from the log."""
        self.reactor.run_until(self.cluster.restart(1), deadline_ms=60_000)
        self.settle(1000)

    def initialize(self, *partitions: int, epoch: int = 0, start: int = -1) -> Any:
        """Return the results of InitializeShareGroupState."""
        data = [initialize.PartitionData(partition=each, state_epoch=epoch, start_offset=start) for each in partitions]
        topics = [initialize.InitializeStateData(topic_id=self.topic_id, partitions=data)]
        request = initialize.InitializeShareGroupStateRequest(group_id=GROUP, topics=topics)
        return self.call(request, 0).results[0].partitions

    def read(self, *partitions: int, leader_epoch: int = -1) -> Any:
        """Return the results of ReadShareGroupState."""
        data = [read.PartitionData(partition=each, leader_epoch=leader_epoch) for each in partitions]
        topics = [read.ReadStateData(topic_id=self.topic_id, partitions=data)]
        return self.call(read.ReadShareGroupStateRequest(group_id=GROUP, topics=topics), 0).results[0].partitions

    def summary(self, *partitions: int) -> Any:
        """Return the results of ReadShareGroupStateSummary."""
        data = [summary.PartitionData(partition=each, leader_epoch=-1) for each in partitions]
        topics = [summary.ReadStateSummaryData(topic_id=self.topic_id, partitions=data)]
        request = summary.ReadShareGroupStateSummaryRequest(group_id=GROUP, topics=topics)
        return self.call(request, 1).results[0].partitions

    def write(
        self,
        partition: int,
        *batches: tuple[int, int, int, int],
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start: int = -1,
        complete: int = 0,
    ) -> Any:
        """Return the result of WriteShareGroupState; a batch is (first, last, state, count)."""
        data = write.PartitionData(
            partition=partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=complete,
            state_batches=[
                write.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
                for first, last, state, count in batches
            ],
        )
        topics = [write.WriteStateData(topic_id=self.topic_id, partitions=[data])]
        request = write.WriteShareGroupStateRequest(group_id=GROUP, topics=topics)
        return self.call(request, 1).results[0].partitions[0]

    def delete(self, *partitions: int) -> Any:
        """Return the results of DeleteShareGroupState."""
        data = [delete.PartitionData(partition=each) for each in partitions]
        topics = [delete.DeleteStateData(topic_id=self.topic_id, partitions=data)]
        return self.call(delete.DeleteShareGroupStateRequest(group_id=GROUP, topics=topics), 0).results[0].partitions


@pytest.fixture
def share_bench() -> Iterator[Callable[..., ShareBench]]:
    benches: list[ShareBench] = []

    def start(**config: str) -> ShareBench:
        benches.append(ShareBench({name.replace("_", "."): value for name, value in config.items()}))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
