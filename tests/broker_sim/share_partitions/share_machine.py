"""A Hypothesis state machine: members of a share group that join, leave, crash, pause and lose connections, leaders of
share partitions and share coordinators that crash and move, and records that are produced and deleted.

No record is acquired by two members at once, or delivered more often than the limit, or after a successful
acknowledgement that finishes it. Epochs and start offsets only grow. At rest all records are finished, by a member or
by the limit of deliveries.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from broker_sim.coordinators.groups.share.share_group import ShareGroup
from tests.broker_sim.coordinators.faulty_cluster import BROKERS, OFFSETS_TOPIC
from tests.broker_sim.coordinators.faulty_group_machine import FaultyGroupMachine, places, waits
from tests.broker_sim.share_partitions.delivery_history import DeliveryHistory
from tests.broker_sim.share_partitions.share_client import FetchLimits, Handling, ShareClient
from tests.broker_sim.share_partitions.share_client_session import MAX_WAIT_MS
from tests.broker_sim.share_partitions.share_cluster import (
    DELIVERY_LIMIT,
    GROUP,
    LOCK_MS,
    PARTITIONS,
    SESSION_MS,
    STATE_TOPIC,
    TOPIC,
    ShareCluster,
)

if TYPE_CHECKING:
    from broker_sim.share_partitions.share_partition import SharePartition

MEMBERS_MAX = 4
AT_REST_MS = 180_000

partitions = st.integers(0, PARTITIONS - 1)
limits = st.builds(
    FetchLimits,
    max_records=st.sampled_from([500, 3, 20]),
    batch_size=st.sampled_from([500, 1, 5]),
    exact=st.booleans(),
)


class ShareMachine(FaultyGroupMachine[ShareClient]):
    """The faults of a group's members, of the leaders of its share partitions, and of its coordinators."""

    group_type = ShareGroup
    group_id = GROUP

    def __init__(self) -> None:
        super().__init__()
        self.start_offsets: dict[int, int] = {}
        self.sources: dict[tuple[int, int], tuple[SharePartition, int]] = {}
        self._stack = ExitStack()

    @initialize(handlings=st.lists(st.sampled_from(Handling), min_size=2, max_size=3))
    def start(self, handlings: list[Handling]) -> None:
        self.cluster = ShareCluster()
        self.history = DeliveryHistory(self.cluster.reactor, LOCK_MS / 1000, DELIVERY_LIMIT)
        self._stack.enter_context(self.history.recording())
        for partition in range(PARTITIONS):
            self.cluster.produce(partition, 5)
        for handling in handlings:
            self.member_starts(handling, FetchLimits(), 0)
        self.cluster.run(1_000)

    # Members.

    @precondition(lambda self: len(self.living) < MEMBERS_MAX)
    @rule(handling=st.sampled_from(Handling), limits=limits, ms=waits)
    def member_starts(self, handling: Handling, limits: FetchLimits, ms: int) -> None:
        name = f"member-{len(self.clients)}"
        self.clients.append(ShareClient(self.cluster, self.history, name, handling=handling, limits=limits))
        self.cluster.run(ms)

    @rule(place=places, handling=st.sampled_from(Handling))
    def member_changes(self, place: int, handling: Handling) -> None:
        client = self.chosen(place)
        if client is not None:
            client.handling = handling

    @rule(place=places, ms=st.sampled_from([LOCK_MS - 500, LOCK_MS + 500, SESSION_MS + 500]))
    def member_pauses(self, place: int, ms: int) -> None:
        self.pause(place, ms)

    @rule(place=places, broker_id=st.sampled_from(BROKERS), ms=waits)
    def member_loses_connection(self, place: int, broker_id: int, ms: int) -> None:
        client = self.chosen(place)
        if client is not None:
            client.lose_connection(broker_id)
        self.cluster.run(ms)

    # Members that have lost their records without knowing it.

    @rule(count=st.sampled_from([4, 1, 16]))
    def member_acknowledges_too_late(self, count: int) -> None:
        """A member pauses until its locks have expired, and another member has the records."""
        partition, sharing = self._shared_partition()
        if partition is not None:
            self._acquire_for(sharing, partition, count)
            self.cluster.run(LOCK_MS + 100)
            sharing[0].resume()
            self.cluster.run(300)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(count=st.sampled_from([4, 1, 16]))
    def member_acknowledges_to_a_former_leader(self, count: int) -> None:
        """A member pauses until another leader has delivered its records; the former one learns of it later."""
        partition, sharing = self._shared_partition()
        former = None if partition is None else self.cluster.leader(TOPIC, partition)
        if partition is None or former is None or not self.cluster.in_sync:
            return
        self._acquire_for(sharing, partition, count)
        with self.cluster.without_metadata(former):
            self.cluster.move_leader(TOPIC, partition)
            for client in sharing[1:]:
                client.forget_leader(partition)
            self.cluster.run(400)
            sharing[0].resume()
            self.cluster.run(300)

    def _shared_partition(self) -> tuple[int | None, list[ShareClient]]:
        """Return a partition that several members read, and these; members start if there is none."""
        for is_last in (False, True):
            for partition in range(PARTITIONS):
                sharing = [client for client in self.living if partition in client.assigned and not client.paused]
                if len(sharing) > 1:
                    return partition, sharing
            while len(self.living) < MEMBERS_MAX and not is_last:
                self.member_starts(Handling.ACCEPT, FetchLimits(), 0)
            self.cluster.run(2_000)
        return None, []

    def _acquire_for(self, sharing: list[ShareClient], partition: int, count: int) -> None:
        """Have the first of several members acquire new records and pause before it accepts them; the others keep them.

        A lock that it renewed instead would not be stored: a former leader would renew it.
        """
        late, *others = sharing
        late.handling = Handling.ACCEPT
        for client in others:
            client.handling = Handling.HOLD
            client.pause()
        self.cluster.run(MAX_WAIT_MS + 100)
        self.cluster.produce(partition, count)
        self.cluster.run(50)
        late.pause()
        for client in others:
            client.resume()

    # Records.

    @rule(partition=partitions, count=st.sampled_from([1, 4, 16, 40]), ms=waits)
    def records_are_produced(self, partition: int, count: int, ms: int) -> None:
        self.cluster.produce(partition, count)
        self.cluster.run(ms)

    @rule(partition=partitions, back=st.integers(0, 3))
    def records_are_deleted(self, partition: int, back: int) -> None:
        """Delete whole batches: where the log begins inside a batch, Kafka delivers no record any more.

        The recorded case share-fetch-logs-that-begin-inside-a-batch shows that.
        """
        offsets = self.cluster.batch_offsets(partition)
        if offsets:
            self._delete(partition, offsets[max(len(offsets) - 1 - back, 0)])

    def _delete(self, partition: int, offset: int) -> None:
        deleted = self.history.deleted
        deleted[partition] = max(deleted.get(partition, 0), offset)
        self.cluster.delete_records(partition, offset)

    # Leaders and coordinators.

    def broker_died(self, broker_id: int) -> None:
        for client in self.living:
            client.broker_died(broker_id)

    @precondition(lambda self: self.cluster.in_sync)
    @rule(place=st.sampled_from([(TOPIC, 0), (TOPIC, 1), (STATE_TOPIC, 0), (OFFSETS_TOPIC, 0)]), ms=waits)
    def leader_moves(self, place: tuple[str, int], ms: int) -> None:
        self.cluster.move_leader(*place)
        self.cluster.run(ms)

    @rule(ms=st.sampled_from([10, 150, 600, 2_000, LOCK_MS + 100, SESSION_MS + 100]))
    def time_passes(self, ms: int) -> None:
        self.cluster.run(ms)

    # At all times.

    @invariant()
    def no_rule_of_deliveries_is_broken(self) -> None:
        if self.cluster is not None:
            assert not self.history.violations, "\n".join(self.history.violations)

    @invariant()
    def start_offsets_only_grow(self) -> None:
        if self.cluster is None:
            return
        for partition in range(PARTITIONS):
            stored = self.cluster.stored(partition)
            if stored is not None:
                # A leader with a gap in the stored state may store the start of the gap again after it is deleted.
                start_offset = max(stored.start_offset, self.history.deleted.get(partition, -1))
                assert start_offset >= self.start_offsets.get(partition, -1)
                self.start_offsets[partition] = start_offset
            for broker_id in BROKERS:
                self._check_source(partition, broker_id)

    def _check_source(self, partition: int, broker_id: int) -> None:
        """The state of a share partition in memory is consistent, and its start offset only grows."""
        source = self.cluster.share_partition(partition, broker_id)
        if source is None or not source.is_active:
            return
        # The start offset falls behind the log start when all earlier records are finished, until the next fetch.
        log = self.cluster.cluster.log_of(broker_id, TOPIC, partition)
        start_offset = max(source.start_offset, log.log_start_offset)
        known, earlier = self.sources.get((partition, broker_id), (None, 0))
        assert known is not source or start_offset >= earlier, (start_offset, earlier)
        self.sources[partition, broker_id] = (source, start_offset)
        finished, following = 0, None
        for batch in source.batches:
            assert following is None or batch.first_offset >= following, "batches overlap"
            following = batch.last_offset + 1
            for first, last, state in batch.parts():
                if state.state.is_terminal:
                    finished += source.count_from_start(first, last)
        assert source.complete_count == finished, (source.complete_count, finished)

    # At rest.

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._stack.close()

    def come_to_rest(self) -> None:
        """All members accept from now on, until all records are finished."""
        for client in self.living:
            client.handling = Handling.ACCEPT
        if not self.living:
            self.member_starts(Handling.ACCEPT, FetchLimits(), 0)
        for _ in range(AT_REST_MS // 1_000):
            self.cluster.run(1_000)
            for partition in range(PARTITIONS):
                self._pass_deleted_gap(partition)
            if all(self._is_finished(partition) for partition in range(PARTITIONS)):
                break
        else:
            raise AssertionError(f"records are not finished: {self._unfinished()}")
        for partition in range(PARTITIONS):
            end_offset = self.cluster.high_watermark(partition)
            assert self.history.lost(partition, end_offset) == []
        self.no_rule_of_deliveries_is_broken()
        self.start_offsets_only_grow()

    def _pass_deleted_gap(self, partition: int) -> None:
        """Delete the records that follow a gap in the stored state, if those of the gap are deleted.

        Otherwise Kafka delivers no record any more: the recorded case share-fetch-states-with-a-gap-that-is-deleted
        shows that.
        """
        source = self.cluster.share_partition(partition)
        if source is None or source.read_gap is None or not source.has_read_gap:
            return
        gap_start = source.read_gap.start_offset
        following = next((batch for batch in source.batches if batch.first_offset > gap_start), None)
        if following is not None and gap_start < self.cluster.log_start_offset(partition):
            self._delete(partition, following.last_offset + 1)

    def _is_finished(self, partition: int) -> bool:
        end_offset = self.cluster.high_watermark(partition)
        source = self.cluster.share_partition(partition)
        if self.cluster.log_start_offset(partition) == end_offset:
            return True
        if source is None or not source.is_active:
            return False
        # Without a later record the start offset does not pass records that an earlier leader has delivered.
        finished = sum(
            source.count_from_start(first, last)
            for batch in source.batches
            for first, last, state in batch.parts()
            if state.state.is_terminal and not state.in_transition
        )
        return bool(source.start_offset + finished == end_offset)

    def _unfinished(self) -> list[tuple[int, int, int]]:
        found = []
        for partition in range(PARTITIONS):
            source = self.cluster.share_partition(partition)
            start_offset = -1 if source is None else source.start_offset
            found.append((partition, start_offset, self.cluster.high_watermark(partition)))
        return found
