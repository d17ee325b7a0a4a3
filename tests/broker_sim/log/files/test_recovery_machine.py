"""Appends, rolls, cuts, flushes, stops, kills and losses of power in any order, against a list of what was written."""

from __future__ import annotations

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_sim.log.files.index_entries import parse_offset_index, parse_time_index
from protocol_specs.records.batch_peek import check_batch
from tests.broker_sim.log.files.conftest import Machine


class RecoveryMachine(RuleBasedStateMachine):
    """`values` has the value at each offset; those before `durable` survive everything."""

    @initialize(
        seed=strategies.integers(0, 1 << 16),
        flush_messages=strategies.sampled_from(["1", "3", "9223372036854775807"]),
        interval=strategies.sampled_from(["0", "100", "4096"]),
    )
    def begin(self, seed: int, flush_messages: str, interval: str) -> None:
        topic_config = {
            "internal.segment.bytes": "500",
            "index.interval.bytes": interval,
            "flush.messages": flush_messages,
        }
        self.machine = Machine(topic_config=topic_config, config={"log.flush.offset.checkpoint.interval.ms": "1000"})
        self.machine.random.seed(seed)
        self.values: list[int] = []
        self.next_value = 0
        self.sequence = 0
        self.epoch = 0

    @rule(count=strategies.integers(1, 4), idempotent=strategies.booleans())
    def append(self, count: int, idempotent: bool) -> None:
        values = list(range(self.next_value, self.next_value + count))
        state = self.machine.log().producers.active_producers.get(9)
        sequence = 0 if state is None else state.last_sequence + 1
        producer = (9, 0, sequence) if idempotent else (-1, -1, -1)
        info = self.machine.append(*values, leader_epoch=self.epoch, producer=producer)
        assert not info.duplicate
        self.next_value += count
        self.values += values

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        log = self.machine.log()
        log.roll(log.log_end_offset, self.machine.now_ms())

    @rule(part=strategies.floats(0, 1))
    def truncate(self, part: float) -> None:
        log = self.machine.log()
        offset = log.log_start_offset + round(part * (log.log_end_offset - log.log_start_offset))
        log.truncate_to(offset)
        del self.values[log.log_end_offset :]
        # Whole batches go: what they held before the offset went with them.
        self.values = self.values[: self._end()] + [-1] * (log.log_end_offset - self._end())

    def _end(self) -> int:
        batches = list(self.machine.log().batches())
        return batches[-1].next_offset if batches else min(self.machine.log().log_start_offset, len(self.values))

    @rule(beyond=strategies.integers(0, 3))
    def start_elsewhere(self, beyond: int) -> None:
        log = self.machine.log()
        offset = log.log_end_offset + beyond
        log.truncate_fully_and_start_at(offset)
        self.values = [-1] * offset

    @rule()
    def flush(self) -> None:
        self.machine.log().flush(self.machine.now_ms())

    @rule()
    def delete_oldest(self) -> None:
        log = self.machine.log()
        log.update_high_watermark(log.log_end_offset)
        if len(log.segments) > 1:
            log.delete_segments(1, self.machine.now_ms())

    @rule(ms=strategies.integers(1, 70_000))
    def wait(self, ms: int) -> None:
        self.machine.reactor.run_for(ms=ms)

    @rule()
    def restart(self) -> None:
        end = self._end()
        self.machine.stop()
        self._start(end)

    @rule()
    def kill(self) -> None:
        end = self._end()
        self.machine.kill()
        self._start(end)

    @rule()
    def lose_power(self) -> None:
        log = self.machine.log()
        ends = [batch.next_offset for batch in log.batches() if batch.next_offset <= log.recovery_point]
        durable = max(ends, default=0)
        self.machine.lose_power()
        self._start(durable)

    def _start(self, at_least: int) -> None:
        # A log that was cut within a batch ends there; a start finds only where the batch before it ends.
        self.machine.start()
        log = self.machine.log()
        assert at_least <= log.log_end_offset <= max(len(self.values), log.log_start_offset)
        del self.values[log.log_end_offset :]

    @invariant()
    def the_log_is_a_beginning_of_what_was_written(self) -> None:
        log = self.machine.log()
        assert log.log_end_offset == len(self.values)
        offset = log.log_start_offset
        expected = [value for value in self.values[self._first() :] if value >= 0]
        assert self.machine.values() == expected
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert offset >= log.segments[0].base_offset

    def _first(self) -> int:
        batches = list(self.machine.log().batches())
        return batches[0].base_offset if batches else len(self.values)

    @invariant()
    def the_files_hold_what_memory_holds(self) -> None:
        log = self.machine.log()
        disk = self.machine.disk
        names = disk.list_directory(log.path)
        bases = [int(name[:20]) for name in names if name.endswith(".log")]
        assert bases == [segment.base_offset for segment in log.segments]
        for segment in log.segments:
            path = f"{log.path}/{segment.base_offset:020d}"
            data = disk.read(f"{path}.log")
            assert data == b"".join(batch.data for batch in segment.batches)
            offsets = parse_offset_index(disk.read(f"{path}.index"), len(data))
            times = parse_time_index(disk.read(f"{path}.timeindex"))
            assert offsets is not None
            assert times is not None
            for relative_offset, position in offsets:
                assert check_batch(data, position).last_offset == segment.base_offset + relative_offset

    @invariant()
    def epochs_lie_within_the_log(self) -> None:
        log = self.machine.log()
        for entry in log.epochs.entries:
            assert entry.start_offset <= log.log_end_offset

    @invariant()
    def producers_know_their_last_batch(self) -> None:
        log = self.machine.log()
        own = [batch for batch in log.batches() if batch.producer_id == 9]
        state = log.producers.active_producers.get(9)
        if own:
            assert state is not None
            assert state.last_sequence == own[-1].last_sequence


TestRecovery = RecoveryMachine.TestCase
TestRecovery.settings = settings(max_examples=60, stateful_step_count=30)
