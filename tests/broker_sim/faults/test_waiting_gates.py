from __future__ import annotations

import pytest

from broker_sim.control.events import IsrChanged
from tests.broker_sim.faults.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def shown(bench: Bench, isr: tuple[int, ...]) -> None:
    bench.cluster.isrs["orders", 1] = isr
    bench.cluster.journal.append(
        IsrChanged(
            time_us=0, broker_id=2, topic="orders", partition=1, isr=isr, previous_isr=(2,), leader_epoch=0,
            partition_epoch=1,
        )
    )  # fmt: skip
    bench.reactor.run_for(ms=150)


def test_a_rule_waits_until_every_replica_is_in_sync(bench: Bench) -> None:
    bench.cluster.isrs["orders", 1] = (2,)
    bench.add(name="crash", when={"in_sync": True}, act={"kill": 1})
    bench.reactor.run_for(ms=1_000)
    shown(bench, (2,))
    assert bench.cluster.done == []
    shown(bench, (2, 1))
    assert bench.cluster.done == [("kill", 1)]


def test_one_rule_at_a_time_breaks_a_cluster_that_was_in_sync(bench: Bench) -> None:
    for name, broker in (("first", 1), ("second", 2)):
        bench.add(name=name, when={"in_sync": True}, act={"kill": broker}, until={"delay_ms": 500})
    bench.reactor.run_for(ms=400)
    assert bench.cluster.done == [("kill", 1)]
    assert not bench.engine.is_healed()
    bench.reactor.run_for(ms=200)
    assert bench.cluster.done == [("kill", 1), ("restart", 1), ("kill", 2)]
    bench.reactor.run_for(ms=600)
    assert bench.cluster.done[3:] == [("restart", 2)]
    assert bench.engine.is_healed()


def test_a_delay_ends_the_wait_only_while_the_cluster_is_in_sync(bench: Bench) -> None:
    bench.add(name="crash", when={"in_sync": True, "delay_ms": 100}, act={"kill": 1})
    bench.reactor.run_for(ms=50)
    bench.cluster.isrs["orders", 1] = (2,)
    bench.reactor.run_for(ms=1_000)
    assert bench.cluster.done == []
    shown(bench, (1, 2))
    bench.reactor.run_for(ms=200)
    assert bench.cluster.done == [("kill", 1)]


def test_a_rule_on_requests_does_not_keep_a_cluster_from_being_healed(bench: Bench) -> None:
    bench.add(name="lost", act="drop_response")
    assert bench.engine.is_healed()
    bench.add(name="held", act="hold", until={"acked_records": 5})
    assert not bench.engine.is_healed()
    bench.acked(5)
    bench.reactor.run_for(ms=0)
    assert bench.engine.is_healed()
    bench.add(name="later", when={"acked_records": 50}, act={"kill": 1})
    assert not bench.engine.is_healed()
