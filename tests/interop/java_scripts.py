"""Runs producers' scripts with the Java producer on TCP, and keeps what it asked for.

`python -m tests.interop.java_scripts [SCRIPT ...]` records the streams of those scripts, or of all, anew.
"""

from __future__ import annotations

import base64
import contextlib
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.protocols.basic import LineReceiver

from sim_runtime.reactor_thread import ReactorThread
from tests.client.recorded_streams import keep
from tests.client.script_cluster import Place, ScriptCluster, Waits
from tests.client.script_runs import Came, OurProducer, Progress, Record, Run, Waiting
from tests.client.scripts.every import SCRIPTS
from tests.interop.kafka_release import classpath, java_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.client.producer_script import Script

RELEASE = "4.3.1"
PROGRAM = Path(__file__).parent / "java" / "ScriptedSends.java"
SCRIPT_SECONDS_MAX = 60
STOP_SECONDS_MAX = 10


class JavaProducer(LineReceiver):  # type: ignore[misc]  # Twisted's class is untyped
    """Commands to one Java producer, and what it says."""

    delimiter = b"\n"

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked = 0
        self._tokens: dict[str, Deferred[None]] = {}

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        word, about, *rest = line.decode().split(" ")
        if word == "done":
            self._tokens.pop(about).callback(None)
        else:
            self._progress.ended(int(about), " ".join(rest) if rest[0] == "ok" else "failed")

    def tell(self, *words: object) -> None:
        self.sendLine(" ".join(map(str, words)).encode())

    async def ask(self, word: str, *rest: object) -> None:
        self._asked += 1
        done = self._tokens[str(self._asked)] = Deferred()
        self.tell(word, self._asked, *rest)
        await done

    def start(self, servers: str, config: Mapping[str, object]) -> None:
        given = {"bootstrap.servers": servers, **config}
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        self.tell("start", *(f"{name}={text}" for name, text in texts.items()))

    def send(self, index: int, record: Record) -> Waiting:
        places = [record.partition, record.timestamp_ms]
        return self.ask(
            "send",
            index,
            record.topic,
            *("-" if one is None else one for one in places),
            *("-" if one is None else "=" + base64.b64encode(one).decode() for one in (record.key, record.value)),
        )

    def flush(self) -> Waiting:
        return self.ask("flush")

    def close(self, timeout_ms: int | None) -> Waiting:
        return self.ask("close", -1 if timeout_ms is None else timeout_ms)


@contextlib.contextmanager
def java_producers() -> Iterator[int]:
    """A JVM that makes producers; its port."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = [java_tool("java"), *options, "-cp", classpath(RELEASE), str(PROGRAM)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(STOP_SECONDS_MAX)
        if process.stdout is not None:
            process.stdout.close()


def _cluster(reactor: Any, script: Script) -> ScriptCluster:
    numbers = range(1, script.brokers + 1)
    places = {number: Place(reactor, "127.0.0.1", 0, "127.0.0.1") for number in numbers}
    return ScriptCluster(script, places, Waits(reactor))


async def _run_java(reactor: Any, script: Script, control_port: int) -> Came:
    cluster = _cluster(reactor, script)
    progress = Progress(cluster.waits)
    producer = await connectProtocol(HostnameEndpoint(reactor, "127.0.0.1", control_port), JavaProducer(progress))
    try:
        return await Run(script, cluster, producer, progress).run()
    finally:
        cluster.close()
        producer.transport.loseConnection()


async def _run_ours(reactor: Any, script: Script) -> Came:
    cluster = _cluster(reactor, script)
    progress = Progress(cluster.waits)
    producer = OurProducer(reactor, random.Random(7), progress)
    try:
        return await Run(script, cluster, producer, progress).run()
    finally:
        cluster.close()


def run_with_java(thread: ReactorThread, script: Script, control_port: int) -> Came:
    """The Java producer, on TCP."""
    return thread.call(_run_java, thread.reactor, script, control_port, timeout_s=SCRIPT_SECONDS_MAX)


def run_ours_on_tcp(thread: ReactorThread, script: Script) -> Came:
    """Our producer, on TCP."""
    return thread.call(_run_ours, thread.reactor, script, timeout_s=SCRIPT_SECONDS_MAX)


def main(names: list[str]) -> None:
    with ReactorThread("scripted cluster") as thread, java_producers() as port:
        for script in SCRIPTS:
            if not names or script.name in names:
                try:
                    keep(script.name, run_with_java(thread, script, port))
                except (AssertionError, TimeoutError) as error:
                    print(f"{script.name}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
