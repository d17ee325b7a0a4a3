"""The Java producer's pushed metrics and ours (KIP-714), received by our cluster and by real Kafka."""

from __future__ import annotations

import base64
import contextlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_client import Producer
from tests.client.core.telemetry.read_metrics_data import read_metrics_data
from tests.interop.kafka_release import classpath, java_tool
from tests.interop.metrics_receivers import RELEASE, TOPIC, our_receiver, real_receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.metrics_receivers import Pushed, Receiver

PROGRAM = Path(__file__).parent / "java" / "PushingProducer.java"
WAIT_S = 60
RECEIVERS = {"ours": our_receiver, RELEASE: real_receiver}


class JavaProducer:
    """The program's producer, a command at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.instance_id = self._result()

    def call(self, *words: str) -> str:
        assert self._process.stdin is not None
        print(*words, file=self._process.stdin, flush=True)
        return self._result()

    def text_of(self, metrics: bytes) -> str:
        """OpenTelemetry's own reading."""
        return base64.b64decode(self.call("decode", base64.b64encode(metrics).decode())).decode()

    def _result(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the Java producer ended with {self._process.wait(WAIT_S)}"
        return line.strip()


@contextlib.contextmanager
def java_producer(bootstrap_servers: str) -> Iterator[JavaProducer]:
    java_tool("javac")  # a runtime alone cannot launch a source file
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
    settings = (f"bootstrap.servers={bootstrap_servers}", "client.id=java")
    command = [java_tool("java"), *options, "-cp", classpath(RELEASE), str(PROGRAM), *settings]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield JavaProducer(process)
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


@pytest.fixture(scope="module", params=RECEIVERS)
def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with RECEIVERS[request.param](tmp_path_factory.mktemp("receiver")) as running:
        yield running


def forms(pushed: Pushed) -> set[tuple[object, ...]]:
    """Return the pushed metrics without times and values: names, attributes, and their kinds and types."""
    points, resource = read_metrics_data(pushed.metrics)
    assert resource == []
    return {
        (point.name, *sorted(point.attributes), point.sum is not None and point.sum.is_delta, type(point.value))
        for point in points
    }


def sent(pushes: list[Pushed]) -> float:
    """The sum of the differences of record-send-total."""
    points = [point for pushed in pushes for point in read_metrics_data(pushed.metrics)[0]]
    return sum(point.value for point in points if point.name == "org.apache.kafka.producer.record.send.total")


def test_ours_pushes_what_java_pushes(receiver: Receiver) -> None:
    with java_producer(receiver.bootstrap_servers) as java:
        java.call("send")
        javas = receiver.await_pushes("java", len(receiver.received("java")) + 2)
        with Producer(bootstrap_servers=receiver.bootstrap_servers, client_id="ours") as producer:
            instance_id = producer.client_instance_id(WAIT_S)
            producer.send(TOPIC, bytes(10)).result(WAIT_S)
            receiver.await_pushes("ours", len(receiver.received("ours")) + 2)
        ours = receiver.received("ours")
        assert [one.terminating for one in ours] == [False] * (len(ours) - 1) + [True]
        assert {one.instance_id for one in ours} == {instance_id}
        assert {one.instance_id for one in javas} == {java.instance_id}
        assert forms(ours[-1]) == forms(javas[-1])
        assert sent(ours) == sent(javas) == 1
        names = [point.name for point in read_metrics_data(ours[-1].metrics)[0]]
        assert [line.split('"')[1] for line in java.text_of(ours[-1].metrics).splitlines() if " name:" in line] == names

        if receiver.requests is not None:
            of_java, of_ours = receiver.requests("java")[:3], receiver.requests("ours")[:3]
            assert of_ours == of_java == ["GetTelemetrySubscriptions", "PushTelemetry", "PushTelemetry"]
