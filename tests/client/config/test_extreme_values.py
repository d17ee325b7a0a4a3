"""The limits of the ranges of Java: a record is sent with each of them."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import ProducerClosed
from broker_client.producer import Producer

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World
    from tests.client.scripted_broker import ScriptedCluster

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
SETUP = "socket.connection.setup.timeout"
EXTREMES: tuple[dict[str, object], ...] = (
    {"batch.size": 0},
    {"buffer.memory": LONG_MAX},
    {"connections.max.idle.ms": -1},
    {"connections.max.idle.ms": LONG_MAX},
    {"delivery.timeout.ms": INT_MAX, "request.timeout.ms": INT_MAX},
    {"linger.ms": 0},
    {"max.block.ms": LONG_MAX},
    {"max.in.flight.requests.per.connection": INT_MAX, "enable.idempotence": False},
    {"max.request.size": INT_MAX},
    {"metadata.max.age.ms": 0},
    {"metadata.max.age.ms": LONG_MAX},
    {"metadata.max.idle.ms": 5_000},
    {"metadata.max.idle.ms": LONG_MAX},
    {"metadata.recovery.rebootstrap.trigger.ms": 0},
    {"metadata.recovery.rebootstrap.trigger.ms": LONG_MAX},
    {"partitioner.availability.timeout.ms": LONG_MAX},
    {"receive.buffer.bytes": -1, "send.buffer.bytes": -1},
    {"reconnect.backoff.max.ms": LONG_MAX, "reconnect.backoff.ms": 0},
    {"reconnect.backoff.ms": LONG_MAX},
    {"retry.backoff.max.ms": LONG_MAX, "retry.backoff.ms": 0},
    {"retry.backoff.ms": LONG_MAX},
    {f"{SETUP}.max.ms": LONG_MAX, f"{SETUP}.ms": LONG_MAX},
    {f"{SETUP}.max.ms": 30_000, f"{SETUP}.ms": LONG_MAX},
)


@pytest.mark.parametrize("options", EXTREMES, ids=str)
def test_a_record_gets_through(
    world: World,
    cluster: ScriptedCluster,
    producer_on: Callable[..., ProducerCore],
    options: dict[str, Any],
) -> None:
    names = {name.replace(".", "_"): value for name, value in options.items()}
    sent = producer_on(cluster, **names).send("orders", b"value")
    assert world.run_until(sent.as_deferred(), deadline_ms=10_000).offset == 0


def test_a_flush_ends_an_endless_linger(
    world: World, cluster: ScriptedCluster, producer_on: Callable[..., ProducerCore]
) -> None:
    producer = producer_on(cluster, linger_ms=LONG_MAX)
    world.run_until(producer.partitions_for("orders"), deadline_ms=10_000)
    sent = producer.send("orders", b"value")
    world.run_for(ms=1_000)
    assert not sent.done()
    world.run_until(producer.flush(), deadline_ms=10_000)
    assert sent.result(0).offset == 0


def test_close_ends_a_send_without_time_limit() -> None:
    producer = Producer(bootstrap_servers="127.0.0.1:1", max_block_ms=LONG_MAX)
    raised: list[BaseException] = []

    def send() -> None:
        try:
            producer.send("orders", b"value")
        except ProducerClosed as error:
            raised.append(error)

    sending = Thread(target=send)
    sending.start()
    producer.close(0)
    sending.join(10)
    assert len(raised) == 1
