"""The metrics of a Java consumer in one run, kept as data: for both group protocols, and of a share consumer.

python -m tests.interop.java_consumer_metrics      writes what `make test` compares with anew
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.client.core.metrics.consumer_metrics_as_java import (
    CONFIG,
    PROTOCOLS,
    RECORD_COUNT,
    SHARE,
    SHARE_CONFIG,
    comparable,
    recorded_file,
    write,
)
from tests.client.core.metrics.metrics_as_java import RELEASE, TOPIC, as_text, of_java
from tests.interop.kafka_release import classpath, java_tool
from tests.interop.served_cluster import served_cluster

PROGRAM: Final = Path(__file__).parent / "java" / "ConsumerMetrics.java"
RUN_SECONDS_MAX: Final = 120
SERVED: Final = ("--brokers", "1", "--topic", f"{TOPIC}:2:1")


def run_java(bootstrap_servers: str, protocol: str) -> dict[str, list[dict[str, Any]]]:
    """Return the metrics of its consumer, in the form of the data file."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    of_run = SHARE_CONFIG if protocol == SHARE else {"group.protocol": protocol, **CONFIG}
    settings = {"bootstrap.servers": bootstrap_servers, **of_run}
    run = subprocess.run(
        [
            *(java_tool("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classpath(RELEASE), str(PROGRAM)),
            *(SHARE if protocol == SHARE else "consumer", str(RECORD_COUNT)),
            *(f"{name}={value}" for name, value in settings.items()),
        ],
        capture_output=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr.decode()
    return comparable([of_java(json.loads(line)) for line in run.stdout.decode().splitlines()])


if __name__ == "__main__":
    for group_protocol in (*PROTOCOLS, SHARE):
        with served_cluster(*SERVED) as served:
            write(served.bootstrap_servers)
            found = run_java(served.bootstrap_servers, group_protocol)
        recorded_file(group_protocol).write_text(as_text(found))
        print(recorded_file(group_protocol), file=sys.stderr)
