from __future__ import annotations

import asyncio
import inspect

import pytest

from broker_sim import ThreadedCluster
from broker_sim.aio_verbs import AioVerbs
from broker_sim.errors import BrokerSimError
from sim_runtime.deadlines import DeadlineExceeded

LOCAL = {"awaited", "bootstrap_servers_of"}
"""What a cluster returns without waiting, and what awaits a verb."""


def test_every_verb_has_its_awaitable_form() -> None:
    def verbs(of: type) -> set[str]:
        return {name for name, value in inspect.getmembers(of, inspect.isfunction) if not name.startswith("_")}

    assert verbs(AioVerbs) == verbs(ThreadedCluster) - LOCAL
    assert all(inspect.iscoroutinefunction(getattr(AioVerbs, name)) for name in verbs(AioVerbs))


def test_the_loop_runs_on_while_a_verb_waits() -> None:
    async def run(cluster: ThreadedCluster) -> None:
        assert await cluster.aio.leader_of("orders") == 1
        await cluster.aio.add_rule({"name": "hold", "select": {"api": "Produce"}, "act": "hold", "optional": True})
        waiting = asyncio.create_task(cluster.aio.wait_for_rule("hold", timeout_s=2))
        await cluster.aio.kill(1)  # while the other verb waits
        assert [broker.running for broker in await cluster.aio.brokers()] == [False]
        assert not waiting.done()
        with pytest.raises(BrokerSimError, match="there is no broker 7"):
            await cluster.aio.kill(7)
        with pytest.raises(DeadlineExceeded, match="rule 'hold' to fire"):
            await cluster.aio.wait_for_rule("hold", timeout_s=0.01)
        waiting.cancel()

    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster:
        asyncio.run(run(cluster))
