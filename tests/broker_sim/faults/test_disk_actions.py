"""Rules on disks: power, failures, room, and the time of appends and flushes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import LogDirFailed, PowerLost, TailLost
from broker_sim.errors import BrokerSimError
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.faults.slow_disks import DiskPace, DiskSpeed
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.virtual_reactor import VirtualReactor
from tests.broker_sim.conftest import Replicas

if TYPE_CHECKING:
    from broker_sim.control.events import Event


def on_disk(**options: Any) -> Replicas:
    return Replicas(disk=VirtualDisk(), **options)


def fire(made: Replicas, name: str = "rule", **rule: object) -> None:
    made.cluster.faults.add(parse_rule({"name": name, **rule}))
    made.run(ms=1)


def of_kind(made: Replicas, kind: type[Event]) -> list[Any]:
    return [event for event in made.journal.events if isinstance(event, kind)]


def test_a_broker_that_loses_power_reports_what_it_does_not_find_again() -> None:
    made = on_disk(brokers=1, replication_factor=1, seed=2)
    for value in range(20):
        made.produce(value)
    fire(made, "dark", act={"lose_power": "leader of t-0"})
    assert not made.cluster.broker(1).alive
    fire(made, act={"restart": "killed by dark"})
    made.run(ms=20_000)
    left = made.values(1)
    assert left == list(range(len(left)))
    assert len(left) < 20
    [dark] = of_kind(made, PowerLost)
    [lost] = of_kind(made, TailLost)
    assert (dark.broker_id, lost.topic, lost.partition) == (1, "t", 0)
    assert (lost.from_offset, lost.to_offset) == (len(left), 20)
    assert [batch.base_offset for batch in lost.batches] == list(range(len(left), 20))


def test_nothing_is_reported_where_everything_was_flushed() -> None:
    made = on_disk(brokers=1, replication_factor=1, topic_config={"flush.messages": "1"})
    for value in range(5):
        made.produce(value)
    fire(made, act={"lose_power": 1})
    made.world.run_until(made.cluster.restart(1))
    assert (made.values(1), of_kind(made, TailLost)) == (list(range(5)), [])


@pytest.mark.parametrize("act", [{"lose_power": 1}, {"fill_log_dir": 1}, {"slow_log_dir": {"broker": 1, "sync_ms": 5}}])
def test_an_action_on_a_disk_is_refused_where_logs_are_in_memory(act: dict[str, Any]) -> None:
    (name,) = act
    with pytest.raises(RuleError, match=f"act: {name} needs logs on a disk: a data directory"):
        fire(Replicas(), act=act)


def test_a_directory_that_fails_and_is_mended_serves_after_a_restart() -> None:
    made = on_disk(config={"log.dirs": "a,b"}, partitions=2)
    name = next(
        name
        for name in ("a", "b")
        if made.cluster.broker(1).storage.directories.of(made.topic) == f"/data/broker-1/{name}"
    )
    assert name == "a"
    fire(made, "fails", act={"fail_log_dir": {"broker": 2, "log_dir": "b"}})
    [failed] = of_kind(made, LogDirFailed)
    assert (failed.broker_id, failed.log_dir) == (2, "/data/broker-2/b")
    assert made.cluster.broker(2).alive
    fire(made, "mended", act={"mend_log_dir": {"broker": 2, "log_dir": "b"}})
    assert made.cluster.broker(2).storage.directories.offline
    made.world.run_until(made.cluster.restart(2))
    made.settle()
    assert not made.cluster.broker(2).storage.directories.offline


def test_a_directory_that_fills_fails_with_the_append_that_does_not_fit() -> None:
    made = on_disk(config={"log.dirs": "a,b"}, partitions=2)
    made.topic = next(
        each
        for each in (TopicPartition("t", 0), TopicPartition("t", 1))
        if made.cluster.broker(made.cluster.leader_of(*each) or 0).storage.directories.of(each).endswith("/b")  # type: ignore[union-attr]
    )
    leader = made.leader() or 0
    fire(made, act={"fill_log_dir": {"broker": f"leader of {made.topic}", "left_bytes": 100}})
    assert made.produce(1, broker=leader).error_code is ErrorCode.NONE
    assert made.produce(2, broker=leader).error_code is ErrorCode.KAFKA_STORAGE_ERROR


# Time.


def test_a_disk_does_one_thing_after_the_other() -> None:
    reactor = VirtualReactor()
    pace = DiskPace(reactor, DiskSpeed(append_ms=10, sync_ms=50, bytes_per_second=1_000))
    assert pace.begin_append() == pytest.approx(10)
    assert pace.begin_append() == pytest.approx(20)
    pace.wrote(100)
    assert pace.owed_ms() == pytest.approx(120)
    pace.synced(TopicPartition("t", 0), in_background=True)
    assert pace.owed_ms() == pytest.approx(120)
    assert pace.begin_append() == pytest.approx(180)
    assert pace.owed_ms() == pytest.approx(120)
    pace.synced(TopicPartition("t", 0), in_background=False)
    assert pace.owed_ms() == pytest.approx(230)


class Call:
    """One Produce to the leader, as a handler has it."""

    def __init__(self, made: Replicas, *values: int, acks: int = 1) -> None:
        self.made = made
        self.began_s = made.reactor.seconds()
        data = PartitionProduceData(index=0, records=made.batch(*values))
        request = ProduceRequest(
            acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(name="t", partition_data=[data])]
        )
        calls = PlainCalls(made.cluster.broker(1))
        self.context = calls.context(request, 9)
        self.response: Any = self.context.origin
        calls.accept(self.context)

    def responds_after_ms(self) -> float:
        """Return when the response came; until then the handler was held."""
        assert self.context.handler_held
        response = self.made.world.run_until(self.response, deadline_ms=60_000)
        assert response.responses[0].partition_responses[0].error_code == 0
        assert not self.context.handler_held
        return round((self.made.reactor.seconds() - self.began_s) * 1000, 3)


def test_a_handler_is_held_as_long_as_the_append_and_its_flush_take() -> None:
    made = on_disk(brokers=1, replication_factor=1, topic_config={"flush.messages": "3"})
    fire(made, "slow", act={"slow_log_dir": {"broker": 1, "append_ms": 20, "sync_ms": 100}})
    assert Call(made, 1).responds_after_ms() == 20
    assert Call(made, 2).responds_after_ms() == 20
    assert Call(made, 3).responds_after_ms() == 120
    first, second = Call(made, 4), Call(made, 5)
    assert (first.responds_after_ms(), second.responds_after_ms()) == (20, 40)
    fire(made, "mended", act={"mend_log_dir": 1})
    assert Call(made, 6).response.called


def test_bytes_take_their_time() -> None:
    made = on_disk(brokers=1, replication_factor=1)
    size = len(made.batch(1))
    fire(made, act={"slow_log_dir": {"broker": 1, "log_dir": "broker-1", "bytes_per_second": 10 * size}})
    assert Call(made, 1).responds_after_ms() == pytest.approx(100, abs=0.01)


def test_a_rule_and_a_slow_disk_hold_a_request_one_after_the_other() -> None:
    made = on_disk(brokers=1, replication_factor=1)
    fire(made, "slow", act={"slow_log_dir": {"broker": 1, "append_ms": 20}})
    fire(made, "waits", act={"delay_ms": 50}, select={"topic": "t"})
    assert Call(made, 1).responds_after_ms() == 50
    fire(made, "fails", act={"error": "NOT_LEADER_OR_FOLLOWER"}, select={"topic": "t"}, phase="after_append")
    made.cluster.faults.remove("waits")
    call = Call(made, 2)
    made.run(ms=19)
    assert not call.response.called
    [topic] = made.world.run_until(call.response).responses
    assert topic.partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_with_a_slow_disk_delays_who_waits_for_all_and_leaves_the_isr_in_the_end() -> None:
    made = on_disk(config={"replica.lag.time.max.ms": "2000"})
    assert acknowledged_after_ms(made) <= 2
    fire(made, "slow", act={"slow_log_dir": {"broker": 3, "append_ms": 300}})
    assert 300 <= acknowledged_after_ms(made) <= 310
    assert acknowledged_after_ms(made, acks=1) <= 2
    made.run(ms=1_000)
    for value in range(30):
        made.send(value, acks=1)
        made.run(ms=200)
    assert made.isr() == (1, 2, 3)
    fire(made, "dead", act={"slow_log_dir": {"broker": 3, "append_ms": 10_000}})
    made.send(1, acks=1)
    made.run(ms=5_000)
    assert made.isr() == (1, 2)
    fire(made, "mended", act={"mend_log_dir": 3})
    made.settle()
    assert acknowledged_after_ms(made) <= 2
    assert not made.cluster.faults.open_phases


def acknowledged_after_ms(made: Replicas, acks: int = -1) -> float:
    before = made.reactor.seconds()
    assert made.produce(1, acks=acks, timeout_ms=30_000).error_code is ErrorCode.NONE
    return round((made.reactor.seconds() - before) * 1000, 3)


def test_a_slow_disk_outlives_the_broker_that_has_it() -> None:
    made = on_disk()
    fire(made, act={"slow_log_dir": {"broker": 3, "append_ms": 300}})
    made.cluster.kill(3)
    made.run(ms=20_000)
    made.world.run_until(made.cluster.restart(3))
    made.settle()
    assert acknowledged_after_ms(made) >= 300


def test_a_cluster_in_memory_has_no_slow_disks() -> None:
    with pytest.raises(BrokerSimError, match="cannot be slow: give the cluster a data_dir"):
        Replicas().cluster.slow_log_dir(1, sync_ms=5)


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"slow_log_dir": 1}, "act.slow_log_dir: expected at least one of append_ms, sync_ms, bytes_per_second"),
        ({"slow_log_dir": {"append_ms": 5}}, "act.slow_log_dir.broker: missing; expected a broker id"),
        ({"fill_log_dir": {"broker": 1, "left": 5}}, "act.fill_log_dir.left: unknown key; expected one of"),
        ({"fill_log_dir": {"broker": 1, "left_bytes": -1}}, "act.fill_log_dir.left_bytes: expected a whole number"),
        ({"slow_log_dir": {"broker": 1, "bytes_per_second": 0}}, "bytes_per_second: expected a number of at least 1"),
        ({"lose_power": "all"}, "act.lose_power: expected a broker id"),
        ({"mend_log_dirs": 1}, "'mend_log_dirs' is no act"),
    ],
)
def test_a_mistake_in_an_act_is_named(act: object, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule({"name": "rule", "act": act})
    assert problem in str(caught.value)
