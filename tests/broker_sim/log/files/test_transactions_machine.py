"""Transactions of a log on disk, with truncations and crashes, against a list of what was appended."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.transaction_index import AbortedTransaction
from tests.broker_sim.log.files.conftest import Machine
from tests.broker_sim.log.transactional_log import ABORT, COMMIT, marker, records, without_verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.log.replica_log import ReplicaLog

PRODUCERS = (7, 8, 9)


class Appended(NamedTuple):
    """One batch of the history; `aborts` is None for records."""

    base_offset: int
    last_offset: int
    producer_id: int
    aborts: bool | None


def _replayed(batches: Iterable[Appended]) -> tuple[dict[int, int], list[tuple[bool, AbortedTransaction]]]:
    """Return the open transactions by producer, and those that have ended, each with True if it was aborted."""
    open_since: dict[int, int] = {}
    ended = []
    for each in batches:
        if each.aborts is None:
            open_since.setdefault(each.producer_id, each.base_offset)
        elif each.producer_id in open_since:
            start = open_since.pop(each.producer_id)
            stable = min(open_since.values(), default=each.base_offset + 1)
            ended.append((each.aborts, AbortedTransaction(each.producer_id, start, each.base_offset, stable)))
    return open_since, ended


def _aborted_by(batches: Iterable[Appended], from_offset: int) -> list[AbortedTransaction]:
    """Return the transactions that the markers from an offset on have aborted."""
    _, ended = _replayed(batches)
    return [each for aborts, each in ended if aborts and each.last_offset >= from_offset]


class TransactionsMachine(RuleBasedStateMachine):
    """`appended` has every batch, `history` those that the state is made of, `aborted` what markers have aborted.

    As in Kafka a producer snapshot has no completed transactions: those below `reloaded_from` count as replicated. No
    snapshot at or below the log start is read again, so that with it goes what began before the log start.
    """

    @initialize(
        seed=strategies.integers(0, 1 << 16), flush_messages=strategies.sampled_from(["1", "9223372036854775807"])
    )
    def begin(self, seed: int, flush_messages: str) -> None:
        topic_config = {"internal.segment.bytes": "400", "flush.messages": flush_messages}
        self.machine = Machine(topic_config=topic_config, config=without_verification("4.3.1"))
        self.machine.random.seed(seed)
        self.appended: list[Appended] = []
        self.history: list[Appended] = []
        self.aborted: list[AbortedTransaction] = []
        self.reloaded_from = 0

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
        batch = Appended(result.base_offset, result.last_offset, producer, aborts)
        self.appended.append(batch)
        self.history.append(batch)
        self.aborted += _aborted_by(self.history, result.base_offset)

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
            self._reloaded(newest, newest)

    @rule()
    def start_elsewhere(self) -> None:
        self.log.truncate_fully_and_start_at(self.log.log_end_offset + 1)
        self._clear()
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
        log: Any = self.log
        first = log.segments[0].base_offset
        # A log that begins with its first segment has no entry in the checkpoint of log start offsets.
        checkpointed = log.log_start_offset if log.log_start_offset > first else 0
        flushed = [each.base_offset for each in log.segments if each.base_offset <= log.recovery_point]
        self.machine.storage.checkpoint()
        path = self.machine.log().path
        getattr(self.machine, end)()
        names_before = self.machine.disk.list_directory(path)
        self.machine.start()
        if self.log.segments[0].base_offset > first:
            # Nothing was left at or after the log start, at which the log begins again.
            self._clear()
        self.log.update_high_watermark(self.log.log_end_offset)
        if end == "stop":
            names = self.machine.disk.list_directory(self.machine.log().path)
            newest = self._newest_snapshot([name for name in names_before if name in names], self.log.log_end_offset)
            self._reloaded(self.log.log_end_offset, newest)
        else:
            snapshots = [int(name[:20]) for name in names_before if name.endswith(".snapshot")]
            self._recovered(max(flushed, default=first), checkpointed, snapshots)

    def _clear(self) -> None:
        for batches in (self.appended, self.history, self.aborted):
            batches.clear()

    def _recovered(self, unflushed_from: int, checkpointed: int, snapshots: Sequence[int]) -> None:
        """Make the indexes of the unflushed segments again, each from what a snapshot or the batches before it have.

        The recovery goes by the log start of the checkpoint. It leaves a snapshot behind each segment, from which the
        state is loaded.
        """
        log = self.log
        self._cut()
        self.reloaded_from = log.log_end_offset
        bases = [segment.base_offset for segment in log.segments]
        in_log = [each for each in self.appended if each.base_offset >= bases[0]]
        known = self.history
        has_snapshot = any(checkpointed < offset <= min(unflushed_from, bases[-1]) for offset in snapshots)
        for base, end in zip(bases, [*bases[1:], log.log_end_offset], strict=True):
            if base < min(unflushed_from, bases[-1]):
                continue
            if not has_snapshot:
                known = [each for each in in_log if each.last_offset >= checkpointed]
            known = [each for each in known if each.base_offset < base]
            known += [each for each in in_log if base <= each.base_offset < end]
            self.aborted = [each for each in self.aborted if each.last_offset < base] + _aborted_by(known, base)
            has_snapshot = has_snapshot or end > checkpointed
        start = log.log_start_offset
        is_loaded = has_snapshot and log.log_end_offset > start
        self.history = known if is_loaded else [each for each in in_log if each.last_offset >= start]

    @staticmethod
    def _newest_snapshot(names: Sequence[str], end: int) -> int:
        offsets = [int(name[:20]) for name in names if name.endswith(".snapshot")]
        return max((offset for offset in offsets if offset <= end), default=0)

    def _reloaded(self, reloaded_from: int, snapshot_offset: int) -> None:
        log = self.log
        self.reloaded_from = reloaded_from
        start = log.log_start_offset if snapshot_offset <= log.log_start_offset else 0
        self._cut()
        self.history = [each for each in self.history if each.last_offset >= start]
        log.update_high_watermark(log.high_watermark)  # the next news of the leader

    def _cut(self) -> None:
        end = self.log.log_end_offset
        self.appended = [each for each in self.appended if each.last_offset < end]
        self.history = [each for each in self.history if each.last_offset < end]
        self.aborted = [each for each in self.aborted if each.last_offset < end]

    @invariant()
    def open_transactions_are_known(self) -> None:
        open_since, _ = _replayed(self.history)
        entries = self.log.producers.active_producers
        known = {key: entry.transaction_start for key, entry in entries.items() if entry.transaction_start >= 0}
        assert known == open_since

    @invariant()
    def the_index_has_the_aborted_transactions_of_each_segment(self) -> None:
        log = self.log
        indexed = [entry for segment in log.segments for entry in segment.aborted_transactions]
        first = log.segments[0].base_offset
        assert indexed == [entry for entry in self.aborted if entry.last_offset >= first]
        for segment in log.segments:
            path = f"{self.machine.log().path}/{segment.base_offset:020d}.txnindex"
            assert self.machine.disk.is_file(path) >= bool(segment.aborted_transactions)
            if self.machine.disk.is_file(path):
                stored = [tuple(entry[1:]) for entry in struct.iter_unpack(">hqqqq", self.machine.disk.read(path))]
                assert stored == [tuple(entry) for entry in segment.aborted_transactions]

    @invariant()
    def the_last_stable_offset_is_the_first_undecided_or_unreplicated_record(self) -> None:
        log = self.log
        open_since, ended = _replayed(self.history)
        replicated_before = max(log.high_watermark, self.reloaded_from)
        unstable = [
            *open_since.values(),
            *(each.first_offset for _, each in ended if each.last_offset >= replicated_before),
        ]
        stable = min([*unstable, log.high_watermark])
        if stable < log.log_start_offset:
            batch = log.batch_at(log.log_start_offset)
            stable = log.log_start_offset if batch is None else batch.base_offset
        assert log.last_stable_offset == stable


TestTransactions = TransactionsMachine.TestCase
TestTransactions.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
