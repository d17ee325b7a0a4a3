"""A Hypothesis state machine: transactional producers that write, commit, abort, pause and replace each other, brokers
that crash, coordinators and leaders that move, links between the brokers that are held, transactions that time out.

No aborted record is read committed, the last stable offset passes no open transaction and never goes back on one
leader. At rest every transaction has ended; of each one, all acknowledged records are read, or none.
"""

from __future__ import annotations

from copy import copy
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_sim.coordinators.transactions.transaction_state import COMPLETE, PREPARE, TransactionState
from tests.broker_sim.coordinators.faulty_cluster import BROKERS
from tests.broker_sim.coordinators.transactions.faulty_producer import FaultyProducer, Outcome, Transaction
from tests.broker_sim.coordinators.transactions.transaction_cluster import (
    PARTITIONS,
    STATE_TOPIC,
    NotServedError,
    TransactionCluster,
    transactions_in,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.transactions.transaction_metadata import TransactionMetadata
    from broker_sim.defects.defect import Defect
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.topic_partition import TopicPartition

PRODUCERS = (("a", False), ("a", True), ("b", True), ("c", False))
"""Transactional id, and whether it follows transactions v2."""
TIMEOUT_MS = 3_000
LONG_TIMEOUT_MS = 15_000
AT_REST_MS = 60_000
MARKERS_WRITTEN_MS = 6_000
"""After this time without faults the markers of every decided transaction are written."""


class LateMarker(Enum):
    """The event while markers are held."""

    NOTHING = "nothing"
    LEADER_CRASHES = "the broker that is to write them crashes"
    LEADERS_MOVE = "the leaders of the partitions move"
    COORDINATOR_MOVES = "the coordinator moves"


# A crash is drawn most often: the markers that it loses are sent again.
late_markers = st.sampled_from([LateMarker.LEADER_CRASHES, *LateMarker, LateMarker.LEADER_CRASHES])
places = st.integers(0, len(PRODUCERS) - 1)
partitions = st.lists(st.sampled_from(PARTITIONS), min_size=1, max_size=3)
waits = st.sampled_from([100, 0, 20, 700])
timeouts = st.sampled_from([LONG_TIMEOUT_MS, TIMEOUT_MS])


class TransactionMachine(RuleBasedStateMachine):
    """The faults of producers, of leaders and of the coordinator."""

    defects: ClassVar[Sequence[Defect]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.transactions: list[Transaction] = []
        self.stable: dict[TopicPartition, tuple[ReplicaLog, int, int]] = {}
        self.cluster: Any = None

    @initialize()
    def start(self) -> None:
        self.cluster = TransactionCluster(self.defects)
        self.producers = [FaultyProducer(self.cluster, name, is_v2=is_v2) for name, is_v2 in PRODUCERS]
        self.cluster.run(100)

    # Producers. One that does nothing while others act is a paused one.

    @rule(place=places, timeout_ms=timeouts)
    def producer_starts(self, place: int, timeout_ms: int) -> None:
        self.producers[place].start(timeout_ms)

    @rule(place=places, chosen=partitions, timeout_ms=timeouts)
    def producer_writes(self, place: int, chosen: list[TopicPartition], timeout_ms: int) -> None:
        self._write(place, chosen, timeout_ms)

    def _write(self, place: int, chosen: list[TopicPartition], timeout_ms: int) -> FaultyProducer | None:
        """Return the producer if it has a transaction now."""
        producer = self.producers[place]
        if not producer.ready:
            producer.start(timeout_ms)
        if not producer.ready:
            return None
        transaction = producer.transaction
        if transaction is None:
            transaction = Transaction(number=len(self.transactions))
            self.transactions.append(transaction)
        for partition in chosen:
            producer.write(transaction, partition)
        return producer

    @rule(place=places, commit=st.booleans())
    def transaction_ends(self, place: int, commit: bool) -> None:
        if self.producers[place].transaction is not None:
            self.producers[place].finish(commit=commit)

    @rule(place=places, chosen=partitions, ms=st.sampled_from([0, 100]))
    def transaction_is_committed(self, place: int, chosen: list[TopicPartition], ms: int) -> None:
        producer = self._write(place, chosen, LONG_TIMEOUT_MS)
        if producer is not None:
            producer.finish(commit=True)
        self.cluster.run(ms)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(
        place=places,
        chosen=partitions,
        commit=st.booleans(),
        ms=st.sampled_from([4, 8, 12, 16, 30]),
        moves=st.booleans(),
        again=st.booleans(),
    )
    def coordinator_is_lost_at_the_end(
        self,
        place: int,
        chosen: list[TopicPartition],
        commit: bool,
        ms: int,
        moves: bool,
        again: bool,
    ) -> None:
        """The coordinator crashes or moves while a transaction ends; its producer may repeat the request."""
        producer = self._write(place, chosen, LONG_TIMEOUT_MS)
        coordinator = self.cluster.leader(STATE_TOPIC)
        if producer is None or producer.transaction is None or coordinator is None or not self.cluster.in_sync:
            return
        producer.request_end(commit=commit)
        self.cluster.run(ms)
        if moves:
            self.cluster.move_leader(STATE_TOPIC)
        else:
            self.cluster.kill(coordinator)
            self.cluster.run(700)
        if again:
            producer.finish(commit=commit)
        else:
            producer.transaction, producer.ready = None, False

    @precondition(lambda self: self.cluster.in_sync)
    @rule(place=places, commit=st.booleans(), ms=st.sampled_from([100, 0, 700]), fault=late_markers)
    def markers_come_late(self, place: int, commit: bool, ms: int, fault: LateMarker) -> None:
        """The markers of a transaction are held on the link between the brokers while something else happens."""
        producer = self._write(place, list(PARTITIONS), LONG_TIMEOUT_MS)
        coordinator = self.cluster.leader(STATE_TOPIC)
        if producer is None or producer.transaction is None or coordinator is None:
            return
        producer.finish(commit=commit)
        self.cluster.hold_links(coordinator, 3 - coordinator)
        self.cluster.run(ms)
        if self.cluster.in_sync:
            if fault is LateMarker.LEADER_CRASHES:
                self.cluster.kill(3 - coordinator)
            elif fault is LateMarker.LEADERS_MOVE:
                for partition in PARTITIONS:
                    self.cluster.move_leader(*partition)
            elif fault is LateMarker.COORDINATOR_MOVES:
                self.cluster.move_leader(STATE_TOPIC)
        self.no_aborted_record_is_read_committed()
        self.the_last_stable_offset_holds()
        self.cluster.release_links()
        self.cluster.start_brokers()
        self.cluster.run(MARKERS_WRITTEN_MS)
        for metadata in self._transactions_at_coordinator():
            assert metadata.state not in PREPARE, f"the markers of {metadata} are not written"

    @rule(timeout_ms=timeouts, chosen=partitions, commit=st.booleans())
    def producer_is_replaced(self, timeout_ms: int, chosen: list[TopicPartition], commit: bool) -> None:
        """The former producer of an id ends its transaction while that of its successor is open."""
        former = self._write(0, chosen, LONG_TIMEOUT_MS)
        self.producers[1].start(timeout_ms)
        self._write(1, chosen, timeout_ms)
        if former is not None and former.transaction is not None:
            former.finish(commit=commit)

    @rule(place=places, partition=st.sampled_from(PARTITIONS))
    def record_comes_late(self, place: int, partition: TopicPartition) -> None:
        """A record after the end of its transaction, whose marker is written, is refused (KIP-890)."""
        producer = self.producers[place]
        log = self.cluster.log_of_leader(partition)
        if producer.is_v2 or producer.transaction is not None or producer.producer_id < 0 or log is None:
            return
        if all(each.marker_offset >= 0 for each in transactions_in(log) if each.producer_id == producer.producer_id):
            try:
                error = producer.send(partition, b"late")
            except NotServedError:
                return
            assert error != 0, f"a record of {producer.id} without a transaction is acknowledged"

    @rule(place=places, partition=st.sampled_from(PARTITIONS), commit=st.booleans())
    def requests_come_late(self, place: int, partition: TopicPartition, commit: bool) -> None:
        """Requests of a transaction before the present one change nothing, in v2 (KAFKA-17754, KIP-890)."""
        producer = self._write(place, [partition], LONG_TIMEOUT_MS)
        if producer is None or not producer.is_v2 or producer.former is None:
            return
        former = copy(producer.former)
        try:
            assert former.send(partition, b"late", version=12) != 0
        except NotServedError:
            return
        former.repeat_end(commit=commit)

    # Faults.

    @precondition(lambda self: self.cluster.in_sync)
    @rule(broker_id=st.sampled_from(BROKERS), ms=waits)
    def broker_is_killed(self, broker_id: int, ms: int) -> None:
        self.cluster.kill(broker_id)
        self.cluster.run(ms)

    @precondition(lambda self: len(self.cluster.running) < len(BROKERS))
    @rule(ms=st.sampled_from([3_000, 0, 100]))
    def broker_starts(self, ms: int) -> None:
        self.cluster.start_brokers()
        self.cluster.run(ms)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(ms=waits)
    def coordinator_moves(self, ms: int) -> None:
        self.cluster.move_leader(STATE_TOPIC)
        self.cluster.run(ms)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(partition=st.sampled_from(PARTITIONS), ms=waits)
    def leader_moves(self, partition: TopicPartition, ms: int) -> None:
        self.cluster.move_leader(*partition)
        self.cluster.run(ms)

    @rule(source=st.sampled_from(BROKERS), ms=waits)
    def link_is_held(self, source: int, ms: int) -> None:
        self.cluster.hold_links(source, 3 - source)
        self.cluster.run(ms)

    @rule(ms=waits)
    def links_are_released(self, ms: int) -> None:
        self.cluster.release_links()
        self.cluster.run(ms)

    @rule(ms=st.sampled_from([500, TIMEOUT_MS + 1_500]))
    def time_passes(self, ms: int) -> None:
        self.cluster.run(ms)

    # At all times.

    @invariant()
    def no_aborted_record_is_read_committed(self) -> None:
        if self.cluster is None:
            return
        for partition in PARTITIONS:
            try:
                values = self.producers[0].read(partition)
            except NotServedError:
                continue
            for value in values:
                outcome = self._transaction_of(value).outcome
                assert outcome in (Outcome.COMMITTED, Outcome.UNKNOWN), (partition, value, outcome)

    def _transaction_of(self, value: bytes) -> Transaction:
        return self.transactions[int(value.split(b".")[0])]

    @invariant()
    def the_last_stable_offset_holds(self) -> None:
        if self.cluster is None:
            return
        for partition in PARTITIONS:
            log = self.cluster.log_of_leader(partition)
            if log is None:
                continue
            stable, epoch = log.last_stable_offset, self.cluster.cluster.registration_of(*partition).leader_epoch
            for each in transactions_in(log):
                is_open = each.marker_offset < 0 or each.marker_offset >= log.high_watermark
                assert not is_open or stable <= each.first_offset, (partition, stable, each)
            known = self.stable.get(partition)
            if known is not None and known[:2] == (log, epoch):
                assert stable >= known[2], (partition, known, stable)
            self.stable[partition] = (log, epoch, stable)

    # At rest.

    def teardown(self) -> None:
        """Have everything come to rest, and check the transactions."""
        if self.cluster is None:
            return
        try:
            self.cluster.release_links()
            self.cluster.start_brokers()
            self.cluster.run(AT_REST_MS)
            self.no_aborted_record_is_read_committed()
            self.the_last_stable_offset_holds()
            self._check_ends()
            self._check_outcomes()
        finally:
            self.cluster.close()

    def _check_ends(self) -> None:
        for metadata in self._transactions_at_coordinator():
            assert metadata.pending_state is None, metadata
            assert metadata.state in (TransactionState.EMPTY, *COMPLETE), metadata
        for partition in PARTITIONS:
            log = self.cluster.log_of_leader(partition)
            assert log is not None
            assert [each for each in transactions_in(log) if each.marker_offset < 0] == []
            assert log.last_stable_offset == log.high_watermark == log.log_end_offset, partition

    def _transactions_at_coordinator(self) -> list[TransactionMetadata]:
        coordinator = self.cluster.cluster.brokers[self.producers[0].coordinator].coordinators.transactions
        return list(coordinator.all_metadata)

    def _check_outcomes(self) -> None:
        read: dict[int, dict[TopicPartition, list[bytes]]] = {}
        for partition in PARTITIONS:
            for value in self.producers[0].read(partition):
                of_transaction = read.setdefault(int(value.split(b".")[0]), {})
                of_transaction.setdefault(partition, []).append(value)
        for transaction in self.transactions:
            acknowledged = {partition: values for partition, values in transaction.records.items() if values}
            found = read.get(transaction.number, {})
            if transaction.outcome is Outcome.COMMITTED:
                assert found == acknowledged, transaction
            elif transaction.outcome is Outcome.UNKNOWN:
                assert found in (acknowledged, {}), (transaction, found)
            else:
                assert found == {}, (transaction, found)
