"""A Hypothesis state machine: faults of three brokers and their links, and invariants that hold in spite of them.

Kills, restarts, shutdowns; links that are slow, held, or cut one way; brokers that pause; metadata that lags; elections
and reassignments; appends with acks=all and acks=1, to the leader or to who believes to be it. After every step the
invariants are looked at; in the end all is healed, and the cluster has to come to rest.
"""

from __future__ import annotations

import gc
import struct
from typing import TYPE_CHECKING, Any, ClassVar

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail, LeaderElected
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.topic_partition import TopicPartition
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_sim.defects.defect import Defect
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.replication.partition import Partition

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
TOPIC_RESOURCE, PREFERRED, UNCLEAN = 2, 0, 1

brokers = st.sampled_from(BROKERS)
pairs = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda pair: pair[0] != pair[1])
assignments = st.permutations(BROKERS).flatmap(lambda order: st.sampled_from([tuple(order), tuple(order[:2])]))


def batch_of(value: int) -> bytes:
    builder = RecordBatchBuilder()
    builder.append(1_767_225_600_000, None, struct.pack(">q", value))
    return builder.build()


class Stored:
    """The records of logs: offset to (value, leader epoch). Each batch is read once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._read: dict[int, tuple[StoredBatch, list[tuple[int, int]]]] = {}

    def of(self, broker_id: int) -> dict[int, tuple[int, int]]:
        log = self._cluster.log_of(broker_id, *TOPIC)
        found: dict[int, tuple[int, int]] = {}
        for batch in () if log is None else log.batches():
            for offset, value in self._values(batch):
                found[offset] = (value, batch.leader_epoch)
        return found

    def _values(self, batch: StoredBatch) -> list[tuple[int, int]]:
        known = self._read.get(id(batch))
        if known is None:
            values = [
                (record.offset, struct.unpack(">q", record.value or b"")[0]) for record in read_records(batch.data)
            ]
            known = self._read[id(batch)] = (batch, values)
        return known[1]


class ReplicationMachine(RuleBasedStateMachine):
    """One partition on three brokers, min.insync.replicas=2, no unclean election."""

    release = "4.3.1"
    unclean = False
    defects: ClassVar[Sequence[Defect]] = ()

    @initialize(
        seed=st.integers(0, 1000), delay_ms=st.sampled_from([0.0, 0.0, 5.0]), detail=st.sampled_from(list(Detail))
    )
    def start(self, seed: int, delay_ms: float, detail: Detail) -> None:
        self.world = World(seed)
        configs = {"min.insync.replicas": "2", "unclean.leader.election.enable": str(self.unclean).lower()}
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            topics=[TopicSpec(name="t", replication_factor=3, configs=configs)],
            config=CONFIG,
            release=self.release,
            journal_detail=detail,
            link_delay_ms=delay_ms,
            listen=False,
            defects=self.defects,
        )
        self.cluster.start()
        self.stored = Stored(self.cluster)
        self.next_value = 0
        self.acked: dict[int, tuple[int, int]] = {}
        """What was acknowledged with acks=all, by offset: the value, and the leader epoch of whom it was sent to."""
        self.committed: dict[int, tuple[int, int]] = {}
        """What a leader had below its high watermark."""
        self.written: dict[tuple[int, int], int] = {}
        """By leader epoch and offset: the only value that may ever be there."""
        self.high_watermarks: dict[tuple[int, int], int] = {}
        self.versions: dict[int, tuple[int, int]] = {}
        self.unclean_epoch = 0
        """The leader epoch of the last unclean election: nothing of an earlier one is promised."""
        self.events_seen = 0

    # Rules -----------------------------------------------------------------------------------------------------

    @rule(broker=st.one_of(st.none(), brokers), acks=st.sampled_from([-1, -1, 1]), count=st.integers(1, 4))
    def produce(self, broker: int | None, acks: int, count: int) -> None:
        leader = self.cluster.leader_of(*TOPIC) if broker is None else broker
        if leader is None or not self.cluster.brokers[leader].alive:
            return
        manager = self.cluster.brokers[leader].replica_manager
        for _ in range(count):
            value = self.next_value
            self.next_value += 1
            partition = manager.partitions.get(TOPIC)
            epoch = -1 if partition is None else partition.leader_epoch
            appended = manager.append_records(
                request_id=value, timeout_ms=1_000, required_acks=acks, entries=[(TOPIC, batch_of(value))]
            )

            def acknowledge(results: list[Any], value: int = value, epoch: int = epoch) -> None:
                if results[0].error_code == 0 and acks == -1:
                    self.acked[results[0].base_offset] = (value, epoch)

            if isinstance(appended, Deferred):
                appended.addCallback(acknowledge)
            else:
                acknowledge(appended)

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
    def hold_the_link_from_the_controller_to_the_leader(self) -> None:
        leader = self.cluster.leader_of(*TOPIC)
        if leader is not None:
            self.cluster.links.link(CONTROLLER_ID, leader).hold()

    @rule(broker=brokers, ms=st.sampled_from([1, 1_600, 2_500]))
    def pause(self, broker: int, ms: int) -> None:
        """As a long garbage collection: nothing gets in or out, nothing is lost."""
        links = self.cluster.links.links_of(broker)
        held = [link for link in links if not link.held]
        for link in held:
            link.hold()
        self.world.run_for(ms=ms)
        for link in held:
            link.release()

    @rule(pair=pairs, delay_ms=st.sampled_from([0.0, 2.0, 40.0, 700.0]))
    def slow_down(self, pair: tuple[int, int], delay_ms: float) -> None:
        self.cluster.links.link(*pair).set_delay(delay_ms)

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

    @rule()
    def elect_the_preferred_leader(self) -> None:
        self._elect(PREFERRED)

    @rule(replicas=assignments)
    def reassign(self, replicas: tuple[int, ...]) -> None:
        wanted = ReassignablePartition(partition_index=0, replicas=list(replicas))
        topic = ReassignableTopic(name="t", partitions=[wanted])
        request = AlterPartitionReassignmentsRequest(timeout_ms=1_000, topics=[topic])
        self.cluster.controller.controls.partitions.reassign(request)

    @precondition(lambda self: self.unclean)
    @rule()
    def elect_an_unclean_leader(self) -> None:
        self._elect(UNCLEAN)

    @precondition(lambda self: self.unclean)
    @rule(allowed=st.booleans())
    def allow_unclean_elections(self, allowed: bool) -> None:
        change = AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value=str(allowed).lower())
        resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=[change])
        self.cluster.controller.controls.configs.alter_incrementally(
            IncrementalAlterConfigsRequest(resources=[resource])
        )

    def _elect(self, kind: int) -> None:
        wanted = [TopicPartitions(topic="t", partitions=[0])]
        request = ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=1_000)
        self.cluster.controller.controls.partitions.elect(request)

    # Stories: what chance alone would seldom put together. They begin and end like any other step.

    @rule(
        acks=st.sampled_from([-1, 1]),
        count=st.integers(1, 4),
        ms=st.sampled_from([0, 2_100, 4_000]),
        dies=st.booleans(),
    )
    def write_alone(self, acks: int, count: int, ms: int, dies: bool) -> None:
        """A leader appends unreplicated records, and dies or is cut off; the next leader appends too."""
        leader = self.cluster.leader_of(*TOPIC)
        if leader is None:
            return
        followers = [broker for broker in BROKERS if broker != leader]
        links = [self.cluster.links.link(leader, follower) for follower in followers]
        for link in links:
            link.hold()
        self.produce(leader, 1, 1)  # the parked fetches complete, and their responses are held
        self.produce(leader, acks, count)
        if dies:
            self.cluster.kill(leader)
        else:
            self.cluster.isolate(leader)
        self.world.run_for(ms=ms)
        for link in links:
            link.release()
        self.produce(None, 1, 1)

    @rule(ms=st.sampled_from([2_100, 4_000]))
    def crash_and_return(self, ms: int) -> None:
        """A leader dies, and comes back as a follower."""
        leader = self.cluster.leader_of(*TOPIC)
        if leader is not None:
            self.cluster.kill(leader)
            self.world.run_for(ms=ms)
            self.produce(None, 1, 1)
            self.cluster.restart(leader)
            self.cluster.rejoin(leader)
            self.world.run_for(ms=1_000)

    @rule(count=st.integers(1, 3), ms=st.sampled_from([0, 2_100, 4_000]))
    def crash_after_an_ack(self, count: int, ms: int) -> None:
        """A leader acknowledges, and dies before its followers know; the link between these is cut too."""
        leader = self.cluster.leader_of(*TOPIC)
        if leader is None:
            return
        self.produce(leader, -1, count)
        self.world.run_for(ms=25)
        followers = [broker for broker in BROKERS if broker != leader]
        links = [self.cluster.links.link(one, other) for one in followers for other in followers if one != other]
        for link in links:
            link.hold()
        self.cluster.kill(leader)
        self.world.run_for(ms=ms)
        self.check()
        for link in links:
            link.release()

    @rule(
        out_ms=st.sampled_from([2_500, 4_000]),
        count=st.integers(1, 3),
        ms=st.sampled_from([0, 10, 2_100]),
        early=st.booleans(),
    )
    def join_at_a_deaf_leader(self, out_ms: int, count: int, ms: int, early: bool) -> None:
        """A follower leaves the ISR and comes back, `early` without any bytes; its deaf leader writes and dies."""
        leader = self.cluster.leader_of(*TOPIC)
        if leader is None:
            return
        follower = next(broker for broker in BROKERS if broker != leader)
        # The controller gets heartbeats of both all the time: the follower is not fenced.
        apart = [self.cluster.links.link(leader, follower), self.cluster.links.link(follower, leader)]
        for link in apart:
            link.cut()
        self.produce(leader, -1, 1)
        self.world.run_for(ms=out_ms)
        deaf = self.cluster.links.link(CONTROLLER_ID, leader)
        deaf.hold()
        held = self.cluster.links.link(leader, follower)
        if early:
            held.hold()
        for link in apart:
            link.restore()
        self.world.run_for(ms=1_000)
        self.check()
        held.hold()
        self.produce(leader, 1, 1)
        self.produce(leader, -1, count)
        self.world.run_for(ms=ms)
        self.cluster.kill(leader)
        deaf.release()
        held.release()
        self.world.run_for(ms=ms)

    # Invariants ------------------------------------------------------------------------------------------------

    def _leaders(self) -> Iterator[tuple[int, Partition]]:
        """Return the broker that considers itself the leader, in an epoch whose guarantees hold."""
        for broker_id, broker in self.cluster.brokers.items():
            partition = broker.replica_manager.partitions.get(TOPIC)
            if broker.alive and partition is not None and partition.is_leader:
                yield broker_id, partition

    @invariant()
    def promises_end_with_an_unclean_election(self) -> None:
        events = self.cluster.journal.events
        for event in events[self.events_seen :]:
            if isinstance(event, LeaderElected) and event.unclean and self.unclean:
                self.unclean_epoch = event.leader_epoch
                self.committed.clear()
        self.events_seen = len(events)
        epoch = self.unclean_epoch
        self.acked = {offset: (value, sent) for offset, (value, sent) in self.acked.items() if sent >= epoch}

    @invariant()
    def one_leader_epoch_has_one_value_at_an_offset(self) -> None:
        for broker_id in BROKERS:
            for offset, (value, epoch) in self.stored.of(broker_id).items():
                assert self.written.setdefault((epoch, offset), value) == value, (
                    f"broker {broker_id} has another value at offset {offset} of leader epoch {epoch}"
                )

    @invariant()
    def the_high_watermark_of_a_leader_never_goes_back(self) -> None:
        for broker_id, partition in self._leaders():
            run = (broker_id, partition.leader_epoch)
            high_watermark = partition.log.high_watermark
            assert high_watermark >= self.high_watermarks.get(run, 0), "the high watermark went back on a leader"
            self.high_watermarks[run] = high_watermark

    @invariant()
    def what_was_committed_never_changes(self) -> None:
        for broker_id, partition in self._leaders():
            if partition.leader_epoch < self.unclean_epoch:
                continue
            for offset, stored in self.stored.of(broker_id).items():
                if offset < partition.log.high_watermark:
                    assert self.committed.setdefault(offset, stored) == stored

    @invariant()
    def replicas_agree_below_their_high_watermarks(self) -> None:
        if self.unclean_epoch:
            return  # a replica that does not know it yet keeps its records; see the logs' epochs instead
        for broker_id in BROKERS:
            log = self.cluster.log_of(broker_id, *TOPIC)
            if log is None:
                continue
            stored = self.stored.of(broker_id)
            for offset, committed in self.committed.items():
                if offset < log.high_watermark:
                    assert stored[offset] == committed

    @invariant()
    def who_may_lead_has_every_acknowledged_record(self) -> None:
        registration = self.cluster.registration_of(*TOPIC)
        if registration.leader_epoch < self.unclean_epoch:
            return
        for broker_id in (*registration.isr, *registration.elr):
            stored = self.stored.of(broker_id)
            for offset, (value, _) in self.acked.items():
                assert offset in stored, f"broker {broker_id} may lead without acknowledged offset {offset}"
                assert stored[offset][0] == value

    @invariant()
    def metadata_only_grows(self) -> None:
        for broker_id, broker in self.cluster.brokers.items():
            incarnation = broker.lifecycle.incarnation
            before = self.versions.get(broker_id, (incarnation, 0))
            if before[0] == incarnation:
                assert broker.metadata_version >= before[1]
            self.versions[broker_id] = (incarnation, broker.metadata_version)

    def check(self) -> None:
        self.promises_end_with_an_unclean_election()
        self.one_leader_epoch_has_one_value_at_an_offset()
        self.the_high_watermark_of_a_leader_never_goes_back()
        self.what_was_committed_never_changes()
        self.who_may_lead_has_every_acknowledged_record()
        self.replicas_agree_below_their_high_watermarks()

    # The end -----------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        """Open and quicken all links, run all brokers; the cluster has to come to rest."""
        for source, target in ((source, target) for source in NODES for target in NODES if source != target):
            self.cluster.links.link(source, target).set_delay(0)
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

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        self.heal()
        pending = self.cluster.pending()
        if all(broker.alive for broker in self.cluster.brokers.values()):
            assert pending == []
        self.check()
        self.cluster.close()
        # A failed Deferred without an errback is reported when it is collected.
        self.world.reactor.callLater(0, gc.collect)
        self.world.run_for(ms=1)


class ReplicationMachine37(ReplicationMachine):
    """The same without eligible leader replicas."""

    release = "3.7.2"


class UncleanMachine(ReplicationMachine):
    """Unclean elections on and off: what was promised before one is forgotten, what is promised after it holds."""

    unclean = True


class UncleanMachine37(UncleanMachine):
    """The same without eligible leader replicas."""

    release = "3.7.2"


MACHINES: dict[str, type[ReplicationMachine]] = {
    "4.3": ReplicationMachine,
    "3.7": ReplicationMachine37,
    "4.3-unclean": UncleanMachine,
    "3.7-unclean": UncleanMachine37,
}
