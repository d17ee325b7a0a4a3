"""A faulty cluster with one topic and one share group: its coordinators, share partitions and stored states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.request_context import ConnectionInfo
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.messages.share_fetch import ShareFetchRequest
from protocol_specs.records.record_batch import RecordBatchBuilder
from tests.broker_sim.coordinators.faulty_cluster import FaultyCluster

if TYPE_CHECKING:
    from broker_sim.coordinators.share.share_partition_state import SharePartitionState
    from broker_sim.share_partitions.share_partition import SharePartition

GROUP: Final = "g"
TOPIC: Final = "orders"
PARTITIONS: Final = 2
STATE_TOPIC: Final = "__share_group_state"
LOCK_MS: Final = 4_000
SESSION_MS: Final = 6_000
DELIVERY_LIMIT: Final = 3
LINK_DELAY_MS: Final = 20
"""Between brokers, so that acknowledgements are in flight to share coordinators when leaders move."""
_CONFIG: Final = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "2",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "6",
    "group.share.assignment.interval.ms": "0",
    "group.share.delivery.count.limit": str(DELIVERY_LIMIT),
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.session.timeout.ms": str(SESSION_MS),
    "group.share.min.session.timeout.ms": "1000",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.partition.max.record.locks": "100",
    "group.share.min.partition.max.record.locks": "100",
}


class ShareCluster(FaultyCluster):
    """Topic `orders` of two partitions, which group `g` reads from the beginning."""

    def __init__(self) -> None:
        topic = TopicSpec(name=TOPIC, partitions=PARTITIONS, replication_factor=2)
        super().__init__([topic], _CONFIG, link_delay_ms=LINK_DELAY_MS)
        self.create_coordinators(0, GROUP, 4)
        self.create_coordinators(2, f"{GROUP}:AAAAAAAAAAAAAAAAAAAAAA:0", 6)
        self.configure_group(GROUP, "share.auto.offset.reset", "earliest")
        self.topic_id = self.cluster.controller.image.topics[TOPIC].topic_id

    def produce(self, partition: int, count: int) -> None:
        """Append one batch, if the partition has a leader."""
        leader = self.leader(TOPIC, partition)
        if leader is None:
            return
        builder = RecordBatchBuilder()
        for number in range(count):
            builder.append(1_767_225_600_000, b"k%d" % number, b"v")
        data = [PartitionProduceData(index=partition, records=builder.build())]
        topics = [TopicProduceData(name=TOPIC, partition_data=data)]
        self.call(leader, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), 9)

    def batch_offsets(self, partition: int) -> list[int]:
        """Return the offsets at which replicated batches begin, and the high watermark; nothing without a leader."""
        leader = self.leader(TOPIC, partition)
        log = None if leader is None else self.cluster.log_of(leader, TOPIC, partition)
        if log is None:
            return []
        offsets = [each.base_offset for each in log.batches() if each.base_offset < log.high_watermark]
        return [*offsets, log.high_watermark]

    def delete_records(self, partition: int, offset: int) -> None:
        """Delete the records below an offset, if the partition has a leader."""
        leader = self.leader(TOPIC, partition)
        if leader is not None:
            deleted = [DeleteRecordsPartition(partition_index=partition, offset=offset)]
            topics = [DeleteRecordsTopic(name=TOPIC, partitions=deleted)]
            self.call(leader, DeleteRecordsRequest(topics=topics, timeout_ms=100), 2)

    def keep_group(self, broker_id: int) -> None:
        """Have a session of the group at a broker that never ends.

        With its last session a broker forgets the group, but not the locks: when they expire, they store what the
        broker knew of the records then, and accepted records are delivered again. Kafka does that too: the recorded
        case share-fetch-locks-of-a-group-that-is-forgotten shows it.
        """
        broker = self.cluster.brokers[broker_id]
        if not broker.share_partitions.sessions.of_group(GROUP):
            request = ShareFetchRequest(group_id=GROUP, member_id="keeper", topics=[], forgotten_topics_data=[])
            self.send(broker_id, request, 2, ConnectionInfo(connection_id="keeper", client_host="127.0.0.1"))

    # States.

    def key(self, partition: int) -> SharePartitionKey:
        """Return the key of a share partition."""
        return SharePartitionKey(GROUP, self.topic_id, partition)

    def share_partition(self, partition: int, broker_id: int | None = None) -> SharePartition | None:
        """Return the share partition at a broker, by default at the leader; None if no member has fetched it."""
        broker_id = self.leader(TOPIC, partition) if broker_id is None else broker_id
        if broker_id is None or not self.serves(broker_id):
            return None
        return self.cluster.brokers[broker_id].share_partitions.partitions.get(self.key(partition))

    def stored(self, partition: int) -> SharePartitionState | None:
        """Return the committed state that the share coordinator has; None while it moves, or without a state."""
        shard = self.shard(STATE_TOPIC)
        return None if shard is None else shard.states.get(self.key(partition))  # type: ignore[no-any-return]

    def high_watermark(self, partition: int) -> int:
        """Return the high watermark at the leader; all brokers run."""
        leader = self.leader(TOPIC, partition)
        log = None if leader is None else self.cluster.log_of(leader, TOPIC, partition)
        return 0 if log is None else log.high_watermark

    def log_start_offset(self, partition: int) -> int:
        """Return the start of the log at the leader; all brokers run."""
        leader = self.leader(TOPIC, partition)
        log = None if leader is None else self.cluster.log_of(leader, TOPIC, partition)
        return 0 if log is None else log.log_start_offset
