"""A cluster on virtual time has the verbs of a cluster on TCP, for an application on a loop of its world."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from broker_sim.virtual_cluster import VirtualCluster
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator


@pytest.fixture
def cluster() -> Iterator[VirtualCluster]:
    made = VirtualCluster(topics=["orders:1:3"], quick_failover=True, quick_groups=True)
    yield made
    made.close()


def run(cluster: VirtualCluster, program: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=cluster.event_loop) as runner:
        return runner.run(program)


def test_a_verb_lets_virtual_time_pass(cluster: VirtualCluster) -> None:
    async def fail_over() -> tuple[Any, ...]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        first = await cluster.aio.leader_of("orders")
        await cluster.aio.kill(first)
        second = await cluster.aio.wait_for_leader("orders", other_than=first)
        await cluster.aio.restart(first)
        isr = await cluster.aio.wait_for_isr("orders")
        return first, second, isr, loop.time() - began

    first, second, isr, passed = run(cluster, fail_over())
    assert first != second
    assert sorted(isr) == [1, 2, 3]
    assert 0.5 < passed < 10
    assert [broker.running for broker in cluster.brokers()] == [True] * 3


@pytest.mark.parametrize("release", ["2.4", "4.3.1"])
def test_the_first_broker_may_have_the_id_0(release: str) -> None:
    cluster = VirtualCluster(
        first_broker_id=0, config={"1:broker.rack": "b"}, release=release, quick_failover=True, quick_groups=True
    )

    async def fail_over() -> tuple[Any, ...]:
        await cluster.aio.create_topic("orders:1:3")
        await cluster.aio.kill(0)
        await cluster.aio.wait_for_isr("orders", brokers=[1, 2])
        await cluster.aio.restart(0)
        return await cluster.aio.wait_for_isr("orders", brokers=[0, 1, 2])

    assert sorted(run(cluster, fail_over())) == [0, 1, 2]
    assert [(broker.id, broker.rack) for broker in cluster.brokers()] == [(0, None), (1, "b"), (2, None)]
    cluster.close()


def test_verbs_wait_beside_each_other(cluster: VirtualCluster) -> None:
    async def both() -> list[Any]:
        waiting = asyncio.create_task(cluster.aio.wait_for_leader("orders", other_than=1))
        await asyncio.sleep(0.1)
        await cluster.aio.kill(1)
        return [await waiting, await cluster.aio.restart(1)]

    assert run(cluster, both())[0] in {2, 3}


def test_outside_of_a_loop_a_verb_runs_the_world(cluster: VirtualCluster) -> None:
    cluster.kill(1)
    assert cluster.wait_for_leader("orders", other_than=1) in {2, 3}
    cluster.create_topic("payments:1:1")
    assert cluster.leader_of("payments") is not None


def test_a_verb_that_takes_too_long_is_named(cluster: VirtualCluster) -> None:
    with pytest.raises(DeadlineExceeded, match="rule 'hold'"):
        run(cluster, waits_for_a_rule(cluster))


async def waits_for_a_rule(cluster: VirtualCluster) -> None:
    await cluster.aio.add_rule({"name": "hold", "select": {"api": "Produce"}, "act": "hold", "optional": True})
    await cluster.aio.wait_for_rule("hold", timeout_s=3)


def test_a_refusal_comes_from_the_verb(cluster: VirtualCluster) -> None:
    with pytest.raises(BrokerSimError, match="7"):
        run(cluster, cluster.aio.kill(7))
    with pytest.raises(BrokerSimError, match="not reset"):
        cluster.reset()


def test_a_loop_of_real_time_is_refused(cluster: VirtualCluster) -> None:
    with pytest.raises(BrokerSimError, match="is a loop of real time"):
        asyncio.run(cluster.aio.restart(1))


def test_a_seed_decides_the_fingerprint() -> None:
    def fingerprint(seed: int) -> str:
        cluster = VirtualCluster(seed=seed, brokers=1)
        cluster.world.run_for(ms=1_000)
        cluster.close()
        return cluster.fingerprint()

    assert fingerprint(1) == fingerprint(1) != fingerprint(2)


def test_a_closed_cluster_refuses_verbs() -> None:
    cluster = VirtualCluster(brokers=1)
    assert not cluster.closed
    cluster.close()
    cluster.close()
    assert cluster.closed
    with pytest.raises(BrokerSimError, match="closed"):
        cluster.kill(1)


def test_the_end_of_a_with_closes_it_and_checks_its_rules() -> None:
    with VirtualCluster(brokers=1) as cluster:
        assert not cluster.closed
    assert cluster.closed
    with pytest.raises(RuleError, match="never fired"), VirtualCluster(brokers=1) as another:
        another.add_rule({"name": "never", "select": {"api": "Produce"}, "act": "disconnect"})
    assert another.closed
