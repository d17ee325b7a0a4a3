"""Runs producers' scripts with the Java producer on TCP, and keeps its requests.

`python -m tests.interop.java_scripts [SCRIPT ...]` records the streams of those scripts, or of all, anew.
"""

from __future__ import annotations

import base64
import contextlib
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.protocols.basic import LineReceiver

from sim_runtime.reactor_thread import ReactorThread
from tests.client.recorded_streams import record
from tests.client.script_cluster import Place, ScriptCluster, Waits
from tests.client.script_runs import CallWaiting, OurProducer, Progress, Record, Run, RunResult
from tests.client.scripts.every import SCRIPTS
from tests.interop.kafka_release import classpath, java_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    from tests.client.producer_script import Script, SendOffsets

Outcome: TypeAlias = "RunResult | Exception"
"""The result of a script, or the error that ended it."""
Runner: TypeAlias = "Callable[[Script], Coroutine[Deferred[Any], Any, RunResult]]"
RELEASE = "4.3.1"
PROGRAM = Path(__file__).parent / "java" / "ScriptedSends.java"
SCRIPT_SECONDS_MAX = 60
SCRIPTS_AT_ONCE = 4
STOP_SECONDS_MAX = 60


class JavaProducer(LineReceiver):  # type: ignore[misc]  # Twisted's class is untyped
    """Commands to one Java producer, and its output."""

    delimiter = b"\n"

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._requested = 0
        self._tokens: dict[str, Deferred[str]] = {}

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        word, about, *rest = line.decode().split(" ")
        if word == "done":
            self._tokens.pop(about).callback(" ".join(rest) or "ok")
        else:
            self._progress.ended(int(about), " ".join(rest) if rest[0] == "ok" else "failed")

    def command(self, *words: object) -> None:
        self.sendLine(" ".join(map(str, words)).encode())

    async def exchange(self, word: str, *rest: object) -> str:
        self._requested += 1
        done: Deferred[str] = Deferred()
        self._tokens[str(self._requested)] = done
        self.command(word, self._requested, *rest)
        return await done

    def start(self, servers: str, config: Mapping[str, object]) -> None:
        given = {"bootstrap.servers": servers, **config}
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        self.command("start", *(f"{name}={text}" for name, text in texts.items()))

    async def send(self, index: int, record: Record) -> None:
        places = [record.partition, record.timestamp_ms]
        await self.exchange(
            "send",
            index,
            record.topic,
            *("-" if one is None else one for one in places),
            *("-" if one is None else "=" + base64.b64encode(one).decode() for one in (record.key, record.value)),
        )

    async def flush(self) -> None:
        await self.exchange("flush")

    def transact(self, call: str) -> CallWaiting:
        return self.exchange(call)

    def send_offsets(self, step: SendOffsets) -> CallWaiting:
        offsets = (f"{key}@{offset}" for key, offset in step.offsets.items())
        return self.exchange("offsets", step.group, step.generation, step.member or "-", *offsets)

    async def close(self, timeout_ms: int | None) -> None:
        await self.exchange("close", -1 if timeout_ms is None else timeout_ms)


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


async def _run_java(reactor: Any, script: Script, control_port: int) -> RunResult:
    cluster = _cluster(reactor, script)
    progress = Progress(cluster.waits)
    producer = await connectProtocol(HostnameEndpoint(reactor, "127.0.0.1", control_port), JavaProducer(progress))
    try:
        return await Run(script, cluster, producer, progress).run()
    finally:
        cluster.close()
        producer.transport.loseConnection()


async def _run_ours(reactor: Any, script: Script) -> RunResult:
    cluster = _cluster(reactor, script)
    progress = Progress(cluster.waits)
    producer = OurProducer(reactor, random.Random(7), progress)
    try:
        return await Run(script, cluster, producer, progress).run()
    finally:
        cluster.close()


def run_all_with_java(thread: ReactorThread, scripts: Sequence[Script], control_port: int) -> dict[str, Outcome]:
    """The Java producer with all scripts, on TCP, several at once: most of their time is spent waiting."""
    return _run_all(thread, scripts, lambda script: _run_java(thread.reactor, script, control_port))


def run_all_of_ours_on_tcp(thread: ReactorThread, scripts: Sequence[Script]) -> dict[str, Outcome]:
    """Our producer with all scripts, on TCP, several at once."""
    return _run_all(thread, scripts, lambda script: _run_ours(thread.reactor, script))


def _run_all(thread: ReactorThread, scripts: Sequence[Script], run: Runner) -> dict[str, Outcome]:
    results: dict[str, Outcome] = {}
    left = list(scripts)

    async def one_after_another() -> None:
        while left:
            script = left.pop(0)
            try:
                results[script.name] = await run(script)
            except (AssertionError, TimeoutError) as error:
                results[script.name] = error

    async def together() -> None:
        await gatherResults([Deferred.fromCoroutine(one_after_another()) for _ in range(SCRIPTS_AT_ONCE)])

    thread.call(together, timeout_s=SCRIPT_SECONDS_MAX * max(len(scripts), 1))
    return results


def main(names: list[str]) -> None:
    with ReactorThread("scripted cluster") as thread, java_producers() as port:
        for script in SCRIPTS:
            if not names or script.name in names:
                (result,) = run_all_with_java(thread, [script], port).values()
                if isinstance(result, RunResult):
                    record({script.name: result})
                else:
                    print(f"{script.name}: {result}")


if __name__ == "__main__":
    main(sys.argv[1:])
