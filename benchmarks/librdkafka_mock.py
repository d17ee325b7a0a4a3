"""librdkafka's built-in mock cluster in a process of its own: the broker that ours is measured against.

Run as a program it prints BOOTSTRAP_SERVERS=... and serves until its standard input is closed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server(NamedTuple):
    """A running broker to compare with."""

    bootstrap_servers: str
    pid: int


START_SECONDS_MAX = 10
PREFIX = "BOOTSTRAP_SERVERS="


@contextlib.contextmanager
def librdkafka_mock() -> Iterator[Server]:
    """Start the mock cluster with one broker."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        assert line.startswith(PREFIX), line
        yield Server(line.removeprefix(PREFIX), process.pid)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(START_SECONDS_MAX)


def main() -> None:
    """Serve. The mock lives inside a client, whose metadata names its brokers."""
    host = Producer({"test.mock.num.brokers": 1, "log_level": 4})
    brokers = host.list_topics(timeout=START_SECONDS_MAX).brokers.values()
    print(PREFIX + ",".join(f"{broker.host}:{broker.port}" for broker in brokers), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
