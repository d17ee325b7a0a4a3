from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from broker_sim.broker_state import BrokerState
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.zookeeper.lifecycle import ZooKeeperLifecycle
from broker_sim.zookeeper.messages import Code, ZooKeeperError


class PendingClient:
    """A ZooKeeper client whose requests stay without a response until the test gives one."""

    def __init__(self) -> None:
        self.pending: list[Deferred[Any]] = []

    async def request(self, name: str, operation: object) -> Any:  # noqa: ARG002 - as the client's
        self.pending.append(Deferred())
        return await self.pending[-1]


def test_a_broker_killed_during_its_controlled_shutdown_stays_dead() -> None:
    client: Any = PendingClient()
    config = BrokerConfig.parse({"controlled.shutdown.max.retries": "1"}, release="2.8")
    host: Any = SimpleNamespace(reactor=Clock(), config=config, release=config.release_table)
    lifecycle = ZooKeeperLifecycle(
        host=host,
        incarnation=b"",
        random=random.Random(1),
        client=client,
        controlled_shutdown_version=2,
        survives_failed_directories=True,
    )
    lifecycle.adopt(7)
    lifecycle.begin_controlled_shutdown()
    lifecycle.stop()
    client.pending[0].errback(ZooKeeperError(Code.SESSION_EXPIRED))
    assert lifecycle.state is BrokerState.NOT_RUNNING
