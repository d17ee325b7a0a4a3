"""Clusters that receive clients' metrics (KIP-714): ours, and real Kafka with a plugin that is compiled for it."""

from __future__ import annotations

import base64
import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest import mock

from broker_client.admin import Admin, AlterConfigOp, ConfigResource, ConfigResourceType
from broker_sim.control.events import RequestReceived, TelemetryReceived
from broker_sim.control.journal_file import read_journal
from protocol_specs.records.compression import CompressionCodec, decompress
from tests.differential.probe import attempts
from tests.interop import real_kafka
from tests.interop.kafka_release import classpath, java_tool
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RELEASE: Final = "4.3.1"
TOPIC: Final = "orders"
PLUGIN: Final = Path(__file__).parent / "java" / "MetricsReceiver.java"
INTERVAL_MS: Final = 100
WAIT_S: Final = 30
PAYLOAD_BYTES_MAX: Final = 1_000_000
TELEMETRY: Final = ("GetTelemetrySubscriptions", "PushTelemetry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """One push, uncompressed."""

    instance_id: str
    terminating: bool
    metrics: bytes


class Receiver:
    """A running cluster; `received` reads a client's pushed metrics, `requests` (ours only) its telemetry requests."""

    def __init__(
        self,
        bootstrap_servers: str,
        received: Callable[[str], list[Pushed]],
        requests: Callable[[str], list[str]] | None = None,
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.received = received
        self.requests = requests

    def await_pushes(self, client_id: str, count: int) -> list[Pushed]:
        """Wait until there are so many."""
        for _ in attempts(f"{count} pushes of {client_id}", seconds=WAIT_S):
            if len(pushed := self.received(client_id)) >= count:
                return pushed
        raise AssertionError


@contextlib.contextmanager
def our_receiver(folder: Path) -> Iterator[Receiver]:
    """Ours, which lists the APIs, and whose journal has what came."""
    journal = folder / "journal.jsonl"
    options = ("-o", "client.telemetry.receiver=true", "--journal", str(journal))
    with served_cluster("--brokers", "1", *options) as served:
        _prepare(served.bootstrap_servers)
        yield Receiver(
            served.bootstrap_servers,
            lambda client_id: _pushed_to_ours(journal, client_id),
            lambda client_id: _requests_to_ours(journal, client_id),
        )


@contextlib.contextmanager
def real_receiver(folder: Path) -> Iterator[Receiver]:
    """Real Kafka with the plugin on its class path."""
    file = folder / "received"
    file.touch()
    subprocess.run([java_tool("javac"), "-cp", classpath(RELEASE), "-d", str(folder), str(PLUGIN)], check=True)
    settings = {"metric.reporters": PLUGIN.stem, "metrics.receiver.file": str(file)}
    with (
        mock.patch.object(real_kafka, "classpath", lambda release: f"{classpath(release)}:{folder}"),
        real_kafka.real_kafka(RELEASE, settings=settings) as cluster,
    ):
        _prepare(cluster.bootstrap_servers)
        yield Receiver(cluster.bootstrap_servers, lambda client_id: _pushed_to_real(file, client_id))


def _prepare(bootstrap_servers: str) -> None:
    """A topic, and a subscription to everything as often as Kafka allows."""
    wanted = {"metrics": "*", "interval.ms": str(INTERVAL_MS)}
    changes = [AlterConfigOp(name=name, value=value) for name, value in wanted.items()]
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=1, replication_factor=1)
        admin.incremental_alter_configs({ConfigResource(type=ConfigResourceType.CLIENT_METRICS, name="all"): changes})


def _requests_to_ours(journal: Path, client_id: str) -> list[str]:
    events = (event for _, event in read_journal(journal) if isinstance(event, RequestReceived))
    return [event.api for event in events if event.client_id == client_id and event.api in TELEMETRY]


def _pushed_to_ours(journal: Path, client_id: str) -> list[Pushed]:
    return [
        Pushed(
            instance_id=event.client_instance_id,
            terminating=event.terminating,
            metrics=bytes(
                decompress(CompressionCodec(event.compression_type), event.metrics, limit_bytes=PAYLOAD_BYTES_MAX)
            ),
        )
        for _, event in read_journal(journal)
        if isinstance(event, TelemetryReceived) and event.client_id == client_id
    ]


def _pushed_to_real(file: Path, client_id: str) -> list[Pushed]:
    lines = file.read_text().splitlines(keepends=True)
    words = [line.split() for line in lines if line.endswith("\n")]
    return [
        Pushed(instance_id=instance, terminating=terminating == "true", metrics=base64.b64decode(metrics))
        for client, instance, terminating, metrics in words
        if client == client_id
    ]
