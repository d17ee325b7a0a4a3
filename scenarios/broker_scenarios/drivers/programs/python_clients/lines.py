"""The lines between a run and the process of a foreign client: operations in the neutral form of histories.

A line of the run is an invocation, and each gets one line in return, its completion:

    {"i": 3, "type": "invoke", "f": "send", "mops": [["send", "orders-0", 17]], "filler": "abc", "key": null, ...}
    {"i": 3, "type": "ok", "f": "send", "mops": [["send", "orders-0", [5, 17]]], "timestamp_ms": 1700000000000}
    {"i": 4, "type": "info", "f": "send", "error": "_TIMED_OUT: ...", "code": 7}

`info` is an unknown outcome, `fail` a certain one; `code` is Kafka's number of an error, where it has one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import struct
import sys
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FLUSH_S = 600.0
"""How long a call of a client may take where it needs a limit, in seconds: the run has its own, shorter one."""
DETERMINISTIC_CODES = frozenset((10, 17, 29, 32, 43, 76, 87))
"""Refusals before the append that every attempt gets: certain, also after attempts with an unknown outcome."""
REQUEST_TIMED_OUT = 7
ID_BYTES = 8
VERIFIABLE = re.compile(rb"([0-9]{1,10})[.]([0-9]{1,10})")
UNKNOWN = -1


class Completions(ABC):
    """The completions of invocations; `respond` sends each to the run."""

    @abstractmethod
    def respond(self, line: dict[str, Any]) -> None:
        """Send a completion."""

    def complete(self, invocation: dict[str, Any], outcome: str = "ok", **facts: Any) -> None:
        """Complete an invocation. Without `mops` they are those of the invocation."""
        line = {
            "i": invocation["i"],
            "type": outcome,
            "f": invocation["f"],
            "mops": invocation.get("mops", []),
            **facts,
        }
        self.respond(line)

    def sent(self, invocation: dict[str, Any], partition: int, offset: int | None, timestamp_ms: int = -1) -> None:
        """Complete a send with its place; an offset that the client does not know is -1."""
        key = f"{invocation['topic']}-{partition}"
        value_id = invocation["mops"][0][2]
        mops = [["send", key, [-1 if offset is None else offset, value_id]]]
        self.complete(invocation, mops=mops, timestamp_ms=timestamp_ms)

    def failed(self, invocation: dict[str, Any], text: str, code: int = UNKNOWN, *, certain: bool = False) -> None:
        """Complete an invocation with an error; `certain` if nothing can have come of it."""
        certain = certain or code in DETERMINISTIC_CODES
        self.complete(invocation, "fail" if certain else "info", error=text, code=code)


class Run(Completions):
    """The connection to the run: its invocations in order, and a way to complete them from any thread."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.settimeout(None)
        self._reader = self._socket.makefile("r", encoding="utf-8", newline="\n")
        self._lock = threading.Lock()

    def invocations(self) -> Iterator[dict[str, Any]]:
        """Yield each invocation until the run closes the connection."""
        for line in self._reader:
            yield json.loads(line)

    def respond(self, line: dict[str, Any]) -> None:
        """Send a completion as a line."""
        data = (json.dumps(line) + "\n").encode()
        with self._lock:
            self._socket.sendall(data)


def value_of(invocation: dict[str, Any]) -> bytes:
    """The value of a send: its id, then the filler."""
    return struct.pack(">q", invocation["mops"][0][2]) + str(invocation["filler"]).encode()


def key_of(invocation: dict[str, Any]) -> bytes | None:
    """The key of a send."""
    return None if invocation["key"] is None else str(invocation["key"]).encode("latin-1")


def headers_of(invocation: dict[str, Any]) -> list[tuple[str, bytes]]:
    """The headers of a send."""
    return [(name, text.encode()) for name, text in invocation["headers"].items()]


def value_id_of(value: bytes | None) -> int:
    """The id of a value that a run has sent, or Java's VerifiableProducer (`PREFIX.NUMBER`); -1 for another one."""
    if value and value[0] and (verifiable := VERIFIABLE.fullmatch(value)) is not None:
        return int(verifiable[1]) + int(verifiable[2])
    if value is None or len(value) < ID_BYTES:
        return -1
    return int.from_bytes(value[:ID_BYTES], "big")


def polled(records: Any) -> list[Any]:
    """The micro-operation of a poll: `records` are (topic, partition, offset, value)."""
    found: dict[str, list[list[int]]] = {}
    for topic, partition, offset, value in records:
        found.setdefault(f"{topic}-{partition}", []).append([offset, value_id_of(value)])
    return ["poll", found]


def partition_of(key: str) -> tuple[str, int]:
    """`orders-0` -> (`orders`, 0)."""
    topic, _, partition = key.rpartition("-")
    return topic, int(partition)


def typed(text: str) -> Any:
    """A configuration as the Python clients take it: a number, a boolean or a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def underscored(config: dict[str, str]) -> dict[str, Any]:
    """`linger.ms: "5"` -> `linger_ms: 5`."""
    return {name.replace(".", "_"): typed(text) for name, text in config.items()}


def serve(version: str, make: Callable[[Run, dict[str, Any]], Any]) -> None:
    """Make a client and have it carry out the invocations of the run, until that ends."""
    run = Run(int(sys.argv[-1]))
    client = play_in_turn(run, run.invocations(), version, make)
    if hasattr(client, "stop"):
        client.stop()
    # The run is over or has killed this client: nothing is to be sent any more.
    os._exit(0)


def play_in_turn(
    run: Any, invocations: Iterable[dict[str, Any]], version: str, make: Callable[[Any, dict[str, Any]], Any]
) -> Any:
    """Make a client and have it carry out the invocations, one after another; returns it at the end.

    A client has a method for each `f`; a method completes its invocation, at once or later.
    """
    client: Any = None
    for invocation in invocations:
        if invocation["f"] == "exit":
            sys.exit(0)
        try:
            if invocation["f"] == "start":
                client = make(run, invocation)
                run.complete(invocation, version=version)
            else:
                getattr(client, f"do_{invocation['f']}")(invocation)
        except Exception as error:  # noqa: BLE001 - each exception of a client is an outcome
            run.failed(invocation, f"{type(error).__name__}: {error}", certain=invocation["f"] == "start")
    return client


def serve_on_a_loop(version: str, client_class: Callable[[Completions], Any]) -> None:
    """Do the same with a client of asyncio, whose methods are coroutines, on a loop of this thread."""
    run = Run(int(sys.argv[-1]))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        invocations: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        def read() -> None:
            for invocation in run.invocations():
                loop.call_soon_threadsafe(invocations.put_nowait, invocation)
            loop.call_soon_threadsafe(invocations.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        await play(run, invocations, version, client_class)
        os._exit(0)

    asyncio.run(main())


async def play(
    run: Completions,
    invocations: asyncio.Queue[dict[str, Any] | None],
    version: str,
    client_class: Callable[[Completions], Any],
) -> None:
    """Make a client and await its invocations, one after another, until `exit` or None."""
    client: Any = None
    while (invocation := await invocations.get()) is not None and invocation["f"] != "exit":
        try:
            if invocation["f"] == "start":
                client = client_class(run)
                await client.start(invocation)
                run.complete(invocation, version=version)
            else:
                await getattr(client, f"do_{invocation['f']}")(invocation)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            run.failed(invocation, "CancelledError: raised by the client")
        except Exception as error:  # noqa: BLE001 - each exception of a client is an outcome
            run.failed(invocation, f"{type(error).__name__}: {error}", certain=invocation["f"] == "start")
