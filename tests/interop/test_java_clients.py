"""Apache Kafka's own Java producer and consumer, two releases, every codec, every kind of acknowledgement."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.kafka_release import RELEASES, java_tool
from tests.interop.prepared_release import java_command
from tests.interop.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).parent / "java" / "ProduceAndConsume.java"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = ("0", "1", "all", "idempotent")
TOPIC = "java"
RUN_SECONDS_MAX = 200


@pytest.fixture(scope="module", params=["broker-sim", "kafka-4.3.1"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param, TOPIC, 3) as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture(scope="module", params=RELEASES, ids=[f"kafka-clients-{release}" for release in RELEASES])
def outcomes(request: pytest.FixtureRequest, server: str) -> dict[tuple[str, str], str]:
    """The outcome of each combination of codec and acks: one JVM tries them all."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    run = subprocess.run(
        [*java_command(request.param), str(PROGRAM), server, TOPIC],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    lines = [line.split(" ", 2) for line in run.stdout.splitlines()]
    return {(codec, acks): outcome for codec, acks, outcome in lines}


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
def test_java_reads_back_what_it_produced(outcomes: dict[tuple[str, str], str], codec: str, acks: str) -> None:
    assert outcomes[codec, acks] == "ok"
