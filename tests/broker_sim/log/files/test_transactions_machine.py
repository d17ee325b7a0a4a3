"""Transactions of a log on disk, with truncations and crashes, against a list of what was appended."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.transaction_index import AbortedTransaction
from tests.broker_sim.log.files.conftest import Machine
from tests.broker_sim.log.transactional_log import ABORT, COMMIT, marker, records, without_verification

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.replica_log import ReplicaLog

PRODUCERS = (7, 8, 9)


class Appended(NamedTuple):
    """One batch of the history; `aborts` is None for records."""

    base_offset: int
    last_offset: int
    producer_id: int
    aborts: bool | None


class TransactionsMachine(RuleBasedStateMachine):
    """`history` has every batch that the state is made of, `aborted` what markers have aborted.

    As in Kafka a producer snapshot has no completed transactions: those below `reloaded_from` count as replicated. No
    snapshot at or below the log start is read again, so that with it goes what began before the log start: a recovery
    rebuilds indexes without it, and `recovered_from` is the newest log start of one.
    """

    @initialize(
        seed=strategies.integers(0, 1 << 16), flush_messages=strategies.sampled_from(["1", "9223372036854775807"])
    )
    def begin(self, seed: int, flush_messages: str) -> None:
        topic_config = {"internal.segment.bytes": "400", "flush.messages": flush_messages}
        self.machine = Machine(topic_config=topic_config, config=without_verification("4.3.1"))
        self.machine.random.seed(seed)
        self.history: list[Appended] = []
        self.aborted: list[AbortedTransaction] = []
        self.reloaded_from = 0
        self.recovered_from = 0

    @property
    def log(self) -> ReplicaLog:
        return self.machine.log()

    @rule(producer=strategies.sampled_from(PRODUCERS), count=strategies.integers(1, 3))
    def append(self, producer: int, count: int) -> None:
        entry = self.log.producers.active_producers.get(producer)
        sequence = 0 if entry is None else entry.last_sequence + 1
        epoch = 0 if entry is None else entry.producer_epoch
        self._append(records(sequence, producer=producer, epoch=epoch, count=count), producer, None)

    @rule(producer=strategies.sampled_from(PRODUCERS), aborts=strategies.booleans(), bumps=strategies.booleans())
    def end(self, producer: int, aborts: bool, bumps: bool) -> None:
        entry = self.log.producers.active_producers.get(producer)
        epoch = bumps + (0 if entry is None else entry.producer_epoch)
        self._append(marker(ABORT if aborts else COMMIT, producer=producer, epoch=epoch), producer, aborts)

    def _append(self, data: bytes, producer: int, aborts: bool | None) -> None:
        origin = AppendOrigin.CLIENT if aborts is None else AppendOrigin.COORDINATOR
        result = self.log.append_as_leader(data, leader_epoch=0, now_ms=self.machine.now_ms(), origin=origin)
        open_since, _ = self._replayed()
        start = open_since.pop(producer, None)
        offset = result.base_offset
        self.history.append(Appended(offset, result.last_offset, producer, aborts))
        if aborts and start is not None:
            stable = min(open_since.values(), default=offset + 1)
            self.aborted.append(AbortedTransaction(producer, start, offset, stable))

    @rule(part=strategies.floats(0, 1))
    def replicate(self, part: float) -> None:
        log = self.log
        log.update_high_watermark(log.high_watermark + round(part * (log.log_end_offset - log.high_watermark)))

    @rule(part=strategies.floats(0, 1))
    def truncate(self, part: float) -> None:
        log = self.log
        starts = [log.log_end_offset]
        starts += [batch.base_offset for batch in log.batches() if batch.base_offset >= log.log_start_offset]
        end = starts[round(part * (len(starts) - 1))]
        newest = self._newest_snapshot(self.machine.disk.list_directory(self.machine.log().path), end)
        if log.truncate_to(end).truncated:
            self._reloaded(log.segments[-1].base_offset, newest)

    @rule()
    def start_elsewhere(self) -> None:
        self.log.truncate_fully_and_start_at(self.log.log_end_offset + 1)
        self.history.clear()
        self.aborted.clear()
        self._reloaded(self.log.log_end_offset, self.log.log_end_offset)

    @rule(part=strategies.floats(0, 1))
    def delete_records(self, part: float) -> None:
        log = self.log
        start = log.log_start_offset
        log.maybe_increment_log_start_offset(start + round(part * (log.high_watermark - start)))

    @rule()
    def delete_oldest(self) -> None:
        log = self.log
        if len(log.segments) > 1 and log.segments[1].base_offset <= log.high_watermark:
            log.delete_segments(1, self.machine.now_ms())

    @rule()
    def flush(self) -> None:
        self.log.flush(self.machine.now_ms())  # type: ignore[attr-defined]

    @rule(end=strategies.sampled_from(["stop", "kill", "lose_power"]))
    def restart(self, end: str) -> None:
        first = self.log.segments[0].base_offset
        self.machine.storage.checkpoint()
        path = self.machine.log().path
        getattr(self.machine, end)()
        names_before = self.machine.disk.list_directory(path)
        self.machine.start()
        if self.log.segments[0].base_offset > first:
            # Nothing was left at or after the log start, at which the log begins again.
            self.history.clear()
            self.aborted.clear()
        self.log.update_high_watermark(self.log.log_end_offset)
        names = self.machine.disk.list_directory(self.machine.log().path)
        newest = self._newest_snapshot([name for name in names_before if name in names], self.log.log_end_offset)
        self._reloaded(self.log.log_end_offset, newest)
        if end != "stop":
            self.recovered_from = self.log.log_start_offset

    @staticmethod
    def _newest_snapshot(names: Sequence[str], end: int) -> int:
        offsets = [int(name[:20]) for name in names if name.endswith(".snapshot")]
        return max((offset for offset in offsets if offset <= end), default=0)

    def _reloaded(self, reloaded_from: int, snapshot_offset: int) -> None:
        log = self.log
        self.reloaded_from = reloaded_from
        start = log.log_start_offset if snapshot_offset <= log.log_start_offset else 0
        self.history = [each for each in self.history if start <= each.last_offset < log.log_end_offset]
        self.aborted = [each for each in self.aborted if each.last_offset < log.log_end_offset]
        log.update_high_watermark(log.high_watermark)  # the next news of the leader

    def _replayed(self) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Return the open transactions by producer, and start and marker of those that have ended."""
        open_since: dict[int, int] = {}
        ended = []
        for each in self.history:
            if each.aborts is None:
                open_since.setdefault(each.producer_id, each.base_offset)
            elif each.producer_id in open_since:
                ended.append((open_since.pop(each.producer_id), each.base_offset))
        return open_since, ended

    @invariant()
    def open_transactions_are_known(self) -> None:
        open_since, _ = self._replayed()
        entries = self.log.producers.active_producers
        known = {key: entry.transaction_start for key, entry in entries.items() if entry.transaction_start >= 0}
        assert known == open_since

    @invariant()
    def the_index_has_the_aborted_transactions_of_each_segment(self) -> None:
        log = self.log
        first = log.segments[0].base_offset
        indexed = [entry for segment in log.segments for entry in segment.aborted_transactions]
        # A recovery knows nothing of transactions that began before the log start or have ended below it.
        begin = max(first, self.recovered_from)
        known, expected = (
            [entry for entry in entries if entry.first_offset >= begin and entry.last_offset >= log.log_start_offset]
            for entries in (indexed, self.aborted)
        )
        assert [entry[:3] for entry in known] == [entry[:3] for entry in expected]
        if not begin:
            assert known == expected
        for segment in log.segments:
            path = f"{self.machine.log().path}/{segment.base_offset:020d}.txnindex"
            assert self.machine.disk.is_file(path) >= bool(segment.aborted_transactions)
            if self.machine.disk.is_file(path):
                stored = [tuple(entry[1:]) for entry in struct.iter_unpack(">hqqqq", self.machine.disk.read(path))]
                assert stored == [tuple(entry) for entry in segment.aborted_transactions]

    @invariant()
    def the_last_stable_offset_is_the_first_undecided_or_unreplicated_record(self) -> None:
        log = self.log
        open_since, ended = self._replayed()
        replicated_before = max(log.high_watermark, self.reloaded_from)
        unstable = [*open_since.values(), *(start for start, end in ended if end >= replicated_before)]
        stable = min([*unstable, log.high_watermark])
        if stable < log.log_start_offset:
            batch = log.batch_at(log.log_start_offset)
            stable = log.log_start_offset if batch is None else batch.base_offset
        assert log.last_stable_offset == stable


TestTransactions = TransactionsMachine.TestCase
TestTransactions.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
