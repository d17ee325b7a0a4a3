"""`broker-sim produce`: send the lines of standard input to a topic."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.producer import Producer

__all__ = ["add"]

_FUTURES_MAX: Final = 100_000
"""How many records wait for their acknowledgement before the next line is read."""
_FAILURES_SHOWN_MAX: Final = 5


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from broker_scenarios.commands.kafka_clients import add_command
    from broker_sim.argument_types import whole

    parser = add_command(commands, "produce", "send the lines of standard input to a topic, one record each", _run)
    parser.add_argument("-t", "--topic", required=True)
    parser.add_argument("-p", "--partition", type=whole, help="default: by the key, else spread")
    key = parser.add_mutually_exclusive_group()
    key.add_argument("-K", "--key-delimiter", metavar="TEXT", help="each line is a key, this text, and a value")
    key.add_argument("-k", "--key", help="the key of every record")
    parser.add_argument(
        "-H", "--header", action="append", default=[], metavar="NAME=VALUE", help="a header of every record"
    )
    parser.add_argument("-Z", "--null", action="store_true", help="an empty value is null: a tombstone")
    parser.add_argument("--acks", choices=("0", "1", "all"), default="all", help="default: all")
    parser.add_argument(
        "-z", "--compression", choices=("none", "gzip", "snappy", "lz4", "zstd"), default="none", help="default: none"
    )
    parser.add_argument("--json", action="store_true", help="print partition and offset of each record, one JSON line")


def _run(options: argparse.Namespace) -> int:
    from broker_client.config_keys import KEYS
    from broker_client.producer import Producer
    from broker_scenarios.commands.connection_notice import ConnectionNotice
    from broker_scenarios.commands.kafka_clients import REQUEST_TIMEOUT_MS, client_options, timeout_ms_of
    from broker_scenarios.errors import ScenarioError

    headers = []
    for pair in options.header:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ScenarioError(f"-H {pair!r} is not NAME=VALUE, as in -H trace=7")
        headers.append((name, value.encode()))
    timeout_ms = timeout_ms_of(options)
    own = {
        "acks": options.acks,
        "compression.type": options.compression,
        "delivery.timeout.ms": timeout_ms,
        "max.block.ms": timeout_ms,
        "request.timeout.ms": min(REQUEST_TIMEOUT_MS, timeout_ms),
        "linger.ms": 0 if timeout_ms < REQUEST_TIMEOUT_MS else 5,
    }
    outcome = _Outcome(as_json=options.json)
    configs = {**own, **client_options(options, KEYS)}
    servers = configs["bootstrap.servers"]
    with Producer(configs) as producer, ConnectionNotice(producer, servers, options.timeout):
        for key, value in _records(options):
            outcome.add(producer.send(options.topic, value, key, options.partition, headers))
        _flush(producer, options.timeout)
        outcome.take_done(all_of_them=True)
    return outcome.report(options.topic)


def _records(options: argparse.Namespace) -> Iterator[tuple[bytes | None, bytes | None]]:
    from broker_scenarios.errors import ScenarioError

    delimiter = None if options.key_delimiter is None else options.key_delimiter.encode()
    fixed = None if options.key is None else options.key.encode()
    for number, line in enumerate(sys.stdin.buffer, start=1):
        value = line.removesuffix(b"\n")
        key = fixed
        if delimiter is not None:
            key, found, value = value.partition(delimiter)
            if not found:
                raise ScenarioError(f"line {number} of standard input has no {options.key_delimiter!r} (-K)")
        yield key, None if options.null and not value else value


def _flush(producer: Producer, timeout_s: float) -> None:
    # Every record ends within delivery.timeout.ms: the rest is for the last requests.
    producer.flush(2 * timeout_s)


class _Outcome:
    """The results of the records, in the order in which they were sent."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._waiting: deque[FutureRecordMetadata] = deque()
        self._delivered = 0
        self._failures: list[str] = []
        self._failed = 0

    def add(self, future: FutureRecordMetadata) -> None:
        """Add a record, and wait for the first ones if too many wait."""
        self._waiting.append(future)
        self.take_done(all_of_them=False)

    def take_done(self, *, all_of_them: bool) -> None:
        """Count the records that are done, in their order."""
        waiting = self._waiting
        while waiting and (all_of_them or waiting[0].done() or len(waiting) > _FUTURES_MAX):
            self._take(waiting.popleft())

    def _take(self, future: FutureRecordMetadata) -> None:
        from broker_scenarios.commands.kafka_clients import error_text
        from broker_scenarios.commands.record_text import json_line

        error = future.exception()
        if error is not None:
            self._failed += 1
            text = error_text(error)
            if len(self._failures) < _FAILURES_SHOWN_MAX and text not in self._failures:
                self._failures.append(text)
            return
        self._delivered += 1
        if self._as_json:
            placed = future.result()
            place = {"topic": placed.topic, "partition": placed.partition, "offset": placed.offset}
            sys.stdout.buffer.write(json_line(place))

    def report(self, topic: str) -> int:
        """Write the failures to stderr; returns the exit status."""
        from sim_runtime.spelling import plural

        sys.stdout.flush()
        for text in self._failures:
            sys.stderr.write(f"topic {topic!r}: {text}\n")
        counts = f"{plural(self._delivered, 'record')} delivered"
        sys.stderr.write(f"{counts}, {self._failed:,} failed\n" if self._failed else f"{counts}\n")
        return 1 if self._failed else 0
