from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.log_manager import LogManager
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.world import World

if TYPE_CHECKING:
    from broker_sim.topic_partition import TopicPartition

MINUTE_MS = 60_000


class House:
    """A LogManager with logs of its own on virtual time."""

    def __init__(self, *, release: str = "4.3.1", **broker: str) -> None:
        self.world = World(0)
        overrides = {name.replace("_", "."): value for name, value in broker.items()}
        self.config = BrokerConfig.parse(overrides, release=release)
        self.logs: dict[TopicPartition, ReplicaLog] = {}
        self.moved: list[TopicPartition] = []
        self.manager = LogManager(
            reactor=self.world.reactor,
            config=self.config,
            now_ms=self.now_ms,
            logs=lambda: self.logs,
            log_start_moved=self.moved.append,
        )

    def now_ms(self) -> int:
        return int(self.world.reactor.seconds() * 1000)

    def log(self, name: str, **topic: str) -> ReplicaLog:
        overrides = {key.replace("_", "."): value for key, value in topic.items()}
        config = TopicConfig.resolve(overrides, self.config)
        log = ReplicaLog(topic=name, partition=0, config=config, broker_config=self.config, now_ms=self.now_ms())
        self.logs[log.topic_partition] = log
        return log

    def fill(self, log: ReplicaLog, count: int, *, age_ms: int = 0) -> None:
        for number in range(count):
            builder = RecordBatchBuilder()
            builder.append(self.now_ms() - age_ms + number, b"k", b"%d" % number)
            log.append_as_leader(builder.build(), leader_epoch=0, now_ms=self.now_ms())
        log.update_high_watermark(log.log_end_offset)


def test_the_first_retention_check_comes_after_half_a_minute_then_one_every_interval() -> None:
    house = House(release="3.7.2", log_retention_check_interval_ms="60000")
    house.manager.start()
    log = house.log("t", retention_ms="1000")
    house.fill(log, 1, age_ms=2000)
    house.world.run_for(ms=29_990)
    assert log.log_start_offset == 0
    house.world.run_for(ms=20)
    assert (log.log_start_offset, house.moved) == (1, [log.topic_partition])
    house.fill(log, 1)
    house.world.run_for(ms=MINUTE_MS - 100)
    assert log.log_start_offset == 1
    house.world.run_for(ms=200)
    assert log.log_start_offset == 2


def test_newer_releases_may_begin_at_once() -> None:
    house = House(log_initial_task_delay_ms="0")
    log = house.log("t", retention_ms="1000")
    house.fill(log, 1, age_ms=2000)
    house.manager.start()
    house.world.run_for(ms=1)
    assert log.log_start_offset == 1


def test_the_cleaner_rests_for_its_backoff_and_works_until_nothing_is_dirty() -> None:
    house = House()
    compacted = [house.log(name, cleanup_policy="compact", segment_ms="1") for name in ("a", "b")]
    house.manager.start()
    for log in compacted:
        for _ in range(5):
            house.fill(log, 1)
            house.world.run_for(ms=10)
    house.world.run_for(ms=15_000)
    assert [len(list(log.batches())) for log in compacted] == [2, 2]


def test_retention_of_compacted_logs_is_the_cleaners() -> None:
    house = House(log_cleaner_backoff_ms="1000", log_retention_check_interval_ms=str(10 * MINUTE_MS))
    log = house.log("t", cleanup_policy="compact,delete", retention_ms="1000")
    house.fill(log, 1, age_ms=2000)
    house.manager.start()
    house.world.run_for(ms=1_010)
    assert log.log_start_offset == 1


def test_without_a_cleaner_compacted_logs_lose_only_what_is_below_their_start() -> None:
    house = House(release="3.7.2", log_cleaner_enable="false")
    log = house.log("t", cleanup_policy="compact", segment_ms="1")
    house.manager.start()
    for _ in range(4):
        house.fill(log, 1)
        house.world.run_for(ms=10)
    log.maybe_increment_log_start_offset(2)
    house.world.run_for(ms=10 * MINUTE_MS)
    assert [batch.base_offset for batch in log.batches()] == [2, 3]


def test_a_log_that_cannot_be_read_is_left_alone_and_the_others_are_not() -> None:
    house = House()
    broken, sound = (house.log(name, cleanup_policy="compact", segment_ms="1") for name in ("broken", "sound"))
    house.manager.start()
    for log in (broken, sound):
        for _ in range(4):
            house.fill(log, 1)
            house.world.run_for(ms=10)
    batch = next(iter(broken.batches()))
    batch.data = batch.data[:-1] + b"\x7f"
    house.world.run_for(ms=MINUTE_MS)
    assert len(list(broken.batches())) == 4
    assert len(list(sound.batches())) == 2


def test_an_idle_hour_without_compacted_logs_is_a_dozen_checks() -> None:
    house = House()
    house.log("t")
    house.manager.start()
    before = house.world.reactor.calls_made
    house.world.run_for(ms=60 * MINUTE_MS)
    assert house.world.reactor.calls_made - before <= 13


def test_the_cleaner_wakes_for_the_first_compacted_log_and_sleeps_after_the_last() -> None:
    house = House()
    house.manager.start()
    log = house.log("t", cleanup_policy="compact", segment_ms="1")
    house.manager.wake_cleaner()
    for _ in range(4):
        house.fill(log, 1)
        house.world.run_for(ms=10)
    house.world.run_for(ms=15_000)
    assert len(list(log.batches())) == 2
    house.logs.clear()
    house.world.run_for(ms=MINUTE_MS)
    before = house.world.reactor.calls_made
    house.world.run_for(ms=4 * MINUTE_MS)
    assert house.world.reactor.calls_made - before <= 1


def test_nothing_happens_after_the_end() -> None:
    house = House()
    log = house.log("t", cleanup_policy="compact", segment_ms="1", retention_ms="1")
    house.manager.start()
    for _ in range(4):
        house.fill(log, 1)
        house.world.run_for(ms=10)
    house.manager.stop()
    house.manager.wake_cleaner()
    house.world.run_for(ms=60 * MINUTE_MS)
    assert len(list(log.batches())) == 4


def test_another_backoff_holds_from_now_on() -> None:
    house = House()
    log = house.log("t", cleanup_policy="compact", segment_ms="1")
    house.manager.start()
    house.manager.reconfigure(BrokerConfig.parse({"log.cleaner.backoff.ms": "500"}))
    for _ in range(4):
        house.fill(log, 1)
        house.world.run_for(ms=10)
    house.world.run_for(ms=470)
    assert len(list(log.batches())) == 2
