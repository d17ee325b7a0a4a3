"""Whatever happens to brokers and links: what was acknowledged stays, replicas agree, and the cluster heals."""

from __future__ import annotations

import gc
import struct
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail
from broker_sim.replication.broker_links import CONTROLLER_ID
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from sim_runtime.world import World

TOPIC = TopicPartition("t", 0)
CONFIG = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "1500",
    "replica.fetch.backoff.ms": "200",
}
BROKERS = (1, 2, 3)
NODES = (*BROKERS, CONTROLLER_ID)
HEALED_WITHIN_MS = 60_000

brokers = st.sampled_from(BROKERS)
pairs = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda pair: pair[0] != pair[1])


def batch_of(value: int) -> bytes:
    builder = RecordBatchBuilder()
    builder.append(1_767_225_600_000, None, struct.pack(">q", value))
    return builder.build()


def values_of(cluster: Cluster, broker_id: int) -> dict[int, tuple[int, int]]:
    """Offset to (value, leader epoch)."""
    log = cluster.log_of(broker_id, *TOPIC)
    found: dict[int, tuple[int, int]] = {}
    for batch in () if log is None else log.batches():
        for record in read_records(batch.data):
            assert record.value is not None
            found[record.offset] = (struct.unpack(">q", record.value)[0], batch.leader_epoch)
    return found


class ReplicationMachine(RuleBasedStateMachine):
    """One partition on three brokers, min.insync.replicas=2, no unclean election."""

    release = "4.3.1"

    @initialize(
        seed=st.integers(0, 1000), delay_ms=st.sampled_from([0.0, 0.0, 5.0]), detail=st.sampled_from(list(Detail))
    )
    def start(self, seed: int, delay_ms: float, detail: Detail) -> None:
        self.world = World(seed)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            topics=[TopicSpec(name="t", replication_factor=3, configs={"min.insync.replicas": "2"})],
            config=CONFIG,
            release=self.release,
            journal_detail=detail,
            link_delay_ms=delay_ms,
            listen=False,
        )
        self.cluster.start()
        self.next_value = 0
        self.acked: dict[int, int] = {}
        self.committed: dict[int, tuple[int, int]] = {}
        self.high_watermarks: dict[tuple[int, int], int] = {}
        self.versions: dict[int, tuple[int, int]] = {}

    @rule(broker=st.one_of(st.none(), brokers), acks=st.sampled_from([-1, -1, 1]), count=st.integers(1, 4))
    def produce(self, broker: int | None, acks: int, count: int) -> None:
        leader = self.cluster.leader_of(*TOPIC) if broker is None else broker
        if leader is None or not self.cluster.brokers[leader].alive:
            return
        for _ in range(count):
            value = self.next_value
            self.next_value += 1
            answer = self.cluster.brokers[leader].replica_manager.append_records(
                request_id=value, timeout_ms=1_000, required_acks=acks, entries=[(TOPIC, batch_of(value))]
            )

            def answered(results: list[Any], value: int = value) -> None:
                if results[0].error_code == 0 and acks == -1:
                    self.acked[results[0].base_offset] = value

            if isinstance(answer, Deferred):
                answer.addCallback(answered)
            else:
                answered(answer)

    @rule(ms=st.sampled_from([1, 7, 100, 499, 600, 2_500, 9_000]))
    def pass_time(self, ms: int) -> None:
        self.world.run_for(ms=ms)

    @rule(broker=brokers)
    def kill(self, broker: int) -> None:
        self.cluster.kill(broker)

    @rule(broker=brokers)
    def restart(self, broker: int) -> None:
        if not self.cluster.brokers[broker].alive:
            self.cluster.restart(broker)

    @rule(broker=brokers)
    def stop(self, broker: int) -> None:
        self.cluster.stop(broker)

    @rule(ms=st.sampled_from([0, 2_100, 4_000]))
    def crash_the_leader(self, ms: int) -> None:
        leader = self.cluster.leader_of(*TOPIC)
        if leader is not None:
            self.cluster.kill(leader)
            self.world.run_for(ms=ms)

    @rule(ms=st.sampled_from([0, 700, 2_100, 4_000]))
    def isolate_a_follower(self, ms: int) -> None:
        leader = self.cluster.leader_of(*TOPIC)
        follower = next(broker for broker in BROKERS if broker != leader)
        self.cluster.isolate(follower)
        self.world.run_for(ms=ms)

    @rule()
    def hold_what_the_controller_says_to_the_leader(self) -> None:
        leader = self.cluster.leader_of(*TOPIC)
        if leader is not None:
            self.cluster.links.link(CONTROLLER_ID, leader).hold()

    @rule()
    def open_all_links(self) -> None:
        for source in NODES:
            for target in NODES:
                if source != target:
                    self.cluster.links.link(source, target).release()
                    self.cluster.links.link(source, target).restore()

    @rule(pair=pairs)
    def cut(self, pair: tuple[int, int]) -> None:
        self.cluster.links.link(*pair).cut()

    @rule(pair=pairs)
    def restore(self, pair: tuple[int, int]) -> None:
        self.cluster.links.link(*pair).restore()

    @rule(pair=pairs)
    def hold(self, pair: tuple[int, int]) -> None:
        self.cluster.links.link(*pair).hold()

    @rule(pair=pairs)
    def release_held(self, pair: tuple[int, int]) -> None:
        self.cluster.links.link(*pair).release()

    @rule(broker=brokers)
    def isolate(self, broker: int) -> None:
        self.cluster.isolate(broker)

    @rule(broker=brokers)
    def rejoin(self, broker: int) -> None:
        self.cluster.rejoin(broker)

    @rule(broker=brokers, lag_ms=st.sampled_from([0, 50, 3_000]))
    def lag_metadata(self, broker: int, lag_ms: int) -> None:
        self.cluster.brokers[broker].metadata_lag_ms = lag_ms

    @invariant()
    def what_was_committed_never_changes(self) -> None:
        for broker_id, broker in self.cluster.brokers.items():
            partition = broker.replica_manager.partitions.get(TOPIC)
            if not broker.alive or partition is None or not partition.is_leader:
                continue
            high_watermark = partition.log.high_watermark
            run = (broker_id, partition.leader_epoch)
            assert high_watermark >= self.high_watermarks.get(run, 0), "the high watermark went back on a leader"
            self.high_watermarks[run] = high_watermark
            for offset, stored in values_of(self.cluster, broker_id).items():
                if offset < high_watermark:
                    assert self.committed.setdefault(offset, stored) == stored

    @invariant()
    def replicas_agree_below_their_high_watermarks(self) -> None:
        for broker_id in BROKERS:
            log = self.cluster.log_of(broker_id, *TOPIC)
            if log is None:
                continue
            stored = values_of(self.cluster, broker_id)
            for offset, committed in self.committed.items():
                if offset < log.high_watermark:
                    assert stored[offset] == committed

    @invariant()
    def who_leads_has_every_acknowledged_record(self) -> None:
        registration = self.cluster.registration_of(*TOPIC)
        for broker_id in registration.isr:
            stored = values_of(self.cluster, broker_id)
            for offset, value in self.acked.items():
                assert offset in stored, f"broker {broker_id} is in the ISR without acknowledged offset {offset}"
                assert stored[offset][0] == value

    @invariant()
    def metadata_only_grows(self) -> None:
        for broker_id, broker in self.cluster.brokers.items():
            incarnation = broker.lifecycle.incarnation
            before = self.versions.get(broker_id, (incarnation, 0))
            if before[0] == incarnation:
                assert broker.metadata_version >= before[1]
            self.versions[broker_id] = (incarnation, broker.metadata_version)

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        self.open_all_links()
        self.world.run_for(ms=5_000)
        for broker in self.cluster.brokers.values():
            broker.metadata_lag_ms = 0
            if not broker.alive:
                self.cluster.restart(broker.id)
        waited_ms = 0
        while self.cluster.pending() and waited_ms < HEALED_WITHIN_MS:
            self.world.run_for(ms=500)
            waited_ms += 500
        pending = self.cluster.pending()
        stopping = [broker.id for broker in self.cluster.brokers.values() if not broker.alive]
        if not stopping:
            assert pending == []
        self.what_was_committed_never_changes()
        self.who_leads_has_every_acknowledged_record()
        self.replicas_agree_below_their_high_watermarks()
        self.cluster.close()
        # A failed Deferred that nobody looks at is reported when it is collected.
        self.world.reactor.callLater(0, gc.collect)
        self.world.run_for(ms=1)


class ReplicationMachine37(ReplicationMachine):
    """The same without eligible leader replicas."""

    release = "3.7.2"


@pytest.mark.parametrize("machine", [ReplicationMachine, ReplicationMachine37])
def test_no_acknowledged_record_is_lost_and_replicas_agree(machine: type[ReplicationMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
