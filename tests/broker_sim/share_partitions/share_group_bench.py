"""A cluster on virtual time with a topic, and share members that send requests by plain calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.cluster import Cluster
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages import initialize_share_group_state as initialize
from protocol_specs.messages import share_acknowledge as acknowledging
from protocol_specs.messages import share_fetch as fetching
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.share_partitions.share_partition import SharePartition

GROUP = "g"
Ranges = "Mapping[int, Sequence[tuple[int, int, Sequence[int]]]]"


class ShareGroupBench:
    """Topic `orders`, whose share partitions in group `g` begin at offset 0."""

    def __init__(self, config: Mapping[str, str], partitions: int) -> None:
        self.reactor = VirtualReactor()
        self.cluster = Cluster(
            reactor=self.reactor,
            streams=RandomStreams(1),
            brokers=1,
            topics=[TopicSpec(name="orders", partitions=partitions)],
            config={
                "share.coordinator.state.topic.num.partitions": "1",
                "share.coordinator.state.topic.min.isr": "1",
                **config,
            },
            listen=False,
        )
        self.cluster.start()
        self.topic_id = self.cluster.controller.image.topics["orders"].topic_id
        self.epochs: dict[str, int] = {}
        self.call(FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAA:0"]), 6)
        self.run(100)
        data = [initialize.PartitionData(partition=index, state_epoch=1, start_offset=0) for index in range(partitions)]
        topics = [initialize.InitializeStateData(topic_id=self.topic_id, partitions=data)]
        self.call(initialize.InitializeShareGroupStateRequest(group_id=GROUP, topics=topics), 0)

    def run(self, ms: int) -> None:
        """Let virtual time pass."""
        self.reactor.run_for(ms=ms)

    def send(self, request: Any, version: int) -> Deferred[Any]:
        """Send a request."""
        received = type(request).decode(version, request.encode(version))
        return PlainCalls(self.cluster.brokers[1]).call(received, version)

    def call(self, request: Any, version: int) -> Any:
        """Return the response of a request, encoded and decoded as on the wire."""
        response: Any = self.reactor.run_until(self.send(request, version), deadline_ms=60_000)
        return type(response).decode(version, response.encode(version))

    def produce(self, count: int, partition: int = 0) -> None:
        """Append one batch."""
        builder = RecordBatchBuilder()
        for number in range(count):
            builder.append(1_767_225_600_000, b"k%d" % number, b"v")
        data = [PartitionProduceData(index=partition, records=builder.build())]
        topics = [TopicProduceData(name="orders", partition_data=data)]
        response = self.call(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
        assert response.responses[0].partition_responses[0].error_code == 0

    def fetch_request(
        self,
        member: str = "m",
        *,
        epoch: int | None = None,
        partitions: Sequence[int] = (),
        acks: Ranges | None = None,
        **fields: Any,
    ) -> fetching.ShareFetchRequest:
        """Return the next ShareFetch of a member, whose session it opens with partition 0 at first."""
        if epoch is None:
            epoch = self.epochs.get(member, 0)
            self.epochs[member] = epoch + 1
        if epoch == 0 and not partitions:
            partitions = (0,)
        acks = acks or {}
        indexes = dict.fromkeys([*partitions, *acks])
        values = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500}
        topic = fetching.FetchTopic(
            topic_id=self.topic_id,
            partitions=[
                fetching.FetchPartition(
                    partition_index=index,
                    acknowledgement_batches=[
                        fetching.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=list(types)
                        )
                        for first, last, types in acks.get(index, ())
                    ],
                )
                for index in indexes
            ],
        )
        return fetching.ShareFetchRequest(
            group_id=GROUP,
            member_id=member,
            share_session_epoch=epoch,
            topics=[topic] if indexes else [],
            forgotten_topics_data=[],
            **{**values, **fields},
        )

    def fetch(self, member: str = "m", **fields: Any) -> Any:
        """Return the response of the next ShareFetch of a member."""
        return self.call(self.fetch_request(member, **fields), 2)

    def acquired(self, member: str = "m", **fields: Any) -> list[tuple[int, int, int]]:
        """Return the ranges that the next ShareFetch of a member acquires: first, last, delivery count."""
        response = self.fetch(member, **fields)
        assert response.error_code == 0
        return [
            (each.first_offset, each.last_offset, each.delivery_count)
            for topic in response.responses
            for partition in topic.partitions
            for each in partition.acquired_records
        ]

    def acknowledge(
        self,
        *ranges: tuple[int, int, Sequence[int]],
        member: str = "m",
        partition: int = 0,
        renew: bool = False,
        epoch: int | None = None,
    ) -> Any:
        """Return the response of a ShareAcknowledge for one partition."""
        if epoch is None:
            epoch = self.epochs[member]
            self.epochs[member] += 1
        batches = [
            acknowledging.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in ranges
        ]
        data = [acknowledging.AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)]
        request = acknowledging.ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=member,
            share_session_epoch=epoch,
            is_renew_ack=renew,
            topics=[acknowledging.AcknowledgeTopic(topic_id=self.topic_id, partitions=data)],
        )
        return self.call(request, 2)

    def acknowledged(self, *ranges: tuple[int, int, Sequence[int]], **fields: Any) -> tuple[int, str | None]:
        """Return the error of a ShareAcknowledge for one partition."""
        response = self.acknowledge(*ranges, **fields)
        assert response.error_code == 0
        data = response.responses[0].partitions[0]
        return data.error_code, data.error_message

    def share_partition(self, partition: int = 0) -> SharePartition:
        """Return the share partition on the leader."""
        key = SharePartitionKey(GROUP, self.topic_id, partition)
        return self.cluster.brokers[1].share_partitions.partitions[key]

    def stored(self, partition: int = 0) -> list[tuple[int, int, int, int]]:
        """Return the state batches that the share coordinator has: first, last, state, count."""
        shard = self.cluster.brokers[1].coordinators.share.runtime.shard(0)
        assert shard is not None
        state = shard.states[SharePartitionKey(GROUP, self.topic_id, partition)]
        return [
            (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in state.state_batches
        ]
