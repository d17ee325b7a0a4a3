"""The metrics of a Java producer in one run of sends, kept as data.

python -m tests.interop.java_producer_metrics      writes what `make test` compares with anew
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.client.core.metrics.metrics_as_java import (
    CONFIG,
    RECORDED,
    RELEASE,
    SENT,
    TOPIC,
    as_text,
    comparable,
    of_java,
)
from tests.interop.kafka_release import classpath, java_tool
from tests.interop.served_cluster import served_cluster

PROGRAM: Final = Path(__file__).parent / "java" / "ProducerMetrics.java"
RUN_SECONDS_MAX: Final = 120
SERVED: Final = ("--brokers", "1", "--topic", f"{TOPIC}:1:1")


def run_java(bootstrap_servers: str) -> dict[str, list[dict[str, Any]]]:
    """Return the metrics of its producer, in the form of the data file."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    sizes = "/".join(",".join(map(str, flushed)) for flushed in SENT)
    settings = {"bootstrap.servers": bootstrap_servers, **CONFIG}
    run = subprocess.run(
        [
            *(java_tool("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classpath(RELEASE), str(PROGRAM), sizes),
            *(f"{name}={value}" for name, value in settings.items()),
        ],
        capture_output=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr.decode()
    made, sent = [json.loads(line) for line in run.stdout.decode().splitlines()]
    return comparable(of_java(made), of_java(sent))


if __name__ == "__main__":
    with served_cluster(*SERVED) as served:
        RECORDED.write_text(as_text(run_java(served.bootstrap_servers)))
    print(RECORDED, file=sys.stderr)
