"""A cluster on virtual time without sockets, driven through its ReplicaManagers: the fixture `replicas` makes them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_sim.log.append_results import PartitionAppend
    from broker_sim.replication.partition import Partition
    from sim_runtime.disk import Disk

TIMESTAMP_MS = 1_767_225_600_000


class Replicas:
    """Brokers 1 to 3 with topic `t`, one partition, led by broker 1; values are integers."""

    def __init__(
        self,
        *,
        config: Mapping[str, str] | None = None,
        topic_config: Mapping[str, str] | None = None,
        brokers: int = 3,
        partitions: int = 1,
        replication_factor: int = 3,
        release: str = "4.3.1",
        seed: int = 0,
        detail: Detail = Detail.FULL,
        link_delay_ms: float = 0.0,
        disk: Disk | None = None,
        controllers: int = 1,
        on_network: bool = False,
    ) -> None:
        self.world = World(seed)
        self.reactor = self.world.reactor
        self.topic = TopicPartition("t", 0)
        spec = TopicSpec(
            name="t", partitions=partitions, replication_factor=replication_factor, configs=topic_config or {}
        )
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            controllers=controllers,
            topics=[spec],
            config=config,
            release=release,
            journal_detail=detail,
            digest=self.world.digest,
            link_delay_ms=link_delay_ms,
            listen=False,
            broker_reactor=(lambda broker_id: self.world.network.host(f"b{broker_id}")) if on_network else None,
            data_dir=None if disk is None else "/data",
            disk=disk,
        )
        self.journal = self.cluster.journal
        if on_network:
            self.cluster.attach_to_network(self.world.network)
        self.cluster.start()
        self.run(ms=1)

    def run(self, *, ms: float) -> None:
        self.world.run_for(ms=ms)

    def settle(self, *, within_ms: int = 30_000) -> None:
        """Run until all replicas are equal and all brokers at work."""
        waited_ms = 0
        while self.cluster.pending() and waited_ms < within_ms:
            self.run(ms=100)
            waited_ms += 100
        assert self.cluster.pending() == []

    def batch(self, *values: int, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
        """One batch; `producer` is (id, epoch, base sequence)."""
        producer_id, producer_epoch, base_sequence = producer
        builder = RecordBatchBuilder(
            producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence
        )
        for value in values:
            builder.append(TIMESTAMP_MS, None, struct.pack(">q", value))
        return builder.build()

    def send(self, *values: int, acks: int = -1, broker: int = 1, timeout_ms: int = 1_000) -> list[PartitionAppend]:
        """Produce one batch to a broker; the list is empty until the response has arrived."""
        responses: list[PartitionAppend] = []
        response = self.cluster.broker(broker).replica_manager.append_records(
            request_id=1, timeout_ms=timeout_ms, required_acks=acks, entries=[(self.topic, self.batch(*values))]
        )
        if isinstance(response, Deferred):
            response.addCallback(responses.extend)
        else:
            responses.extend(response)
        return responses

    def produce(self, *values: int, **options: Any) -> PartitionAppend:
        """Produce and run until the response has arrived."""
        responses = self.send(*values, **options)
        return self.world.run_until(lambda: responses, deadline_ms=60_000)[0]

    def values(self, broker: int) -> list[int]:
        """Return the values in a broker's log, in order."""
        log = self.cluster.log_of(broker, *self.topic)
        assert log is not None
        records = [record for batch in log.batches() for record in read_records(batch.data)]
        return [struct.unpack(">q", record.value or b"")[0] for record in records]

    def partition(self, broker: int) -> Partition:
        return self.cluster.broker(broker).replica_manager.partitions[self.topic]

    def high_watermark(self, broker: int) -> int:
        return self.partition(broker).log.high_watermark

    def isr(self) -> tuple[int, ...]:
        """As the controller has it."""
        return self.cluster.registration_of(*self.topic).isr

    def leader(self) -> int | None:
        return self.cluster.leader_of(*self.topic)

    def hold_fetches(self, *followers: int, leader: int = 1) -> None:
        for follower in followers:
            self.cluster.links.link(follower, leader).hold()

    def release_fetches(self, *followers: int, leader: int = 1) -> None:
        for follower in followers:
            self.cluster.links.link(follower, leader).release()


@pytest.fixture
def replicas() -> Iterator[Callable[..., Replicas]]:
    """Makes `Replicas`; each is closed at the end."""
    made: list[Replicas] = []

    def make(**options: Any) -> Replicas:
        made.append(Replicas(**options))
        return made[-1]

    yield make
    for one in made:
        one.cluster.close()
