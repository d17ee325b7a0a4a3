"""Records that clients of a controlled cluster send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client import Producer

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control

SECONDS_MAX = 30
ONE_BROKER = {"brokers": 1, "topics": ["orders:2:1"]}
THREE_BROKERS = {"brokers": 3, "topics": ["orders:1:3"]}


def send(servers: str, count: int = 1, **configs: Any) -> list[int]:
    """Send records to orders-0 and return their offsets."""
    with Producer(bootstrap_servers=servers, **configs) as producer:
        sent = [producer.send("orders", f"v{number}".encode(), partition=0) for number in range(count)]
        producer.flush(SECONDS_MAX)
        return [each.result(SECONDS_MAX).offset for each in sent]


def servers_of(control: Control, path: str) -> str:
    servers: str = control.get(path)["bootstrap_servers"]
    return servers
