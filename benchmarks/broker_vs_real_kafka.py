"""The same confluent-kafka producer against `broker-sim serve` and a real Kafka as it is shipped (`make interop`).

Where Java or Maven is missing, it prints one line that names it. A missed target leaves exit status 0.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker_vs_librdkafka_mock import LOADS, PARTITIONS, TOPIC, compare
from benchmarks.librdkafka_mock import Server
from benchmarks.result import table
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import AS_SHIPPED, real_kafka
from tests.interop.servers import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASE: Final = "4.3.1"
TARGETS: Final = (1.2, 1.5, 4.0, 1.0)


@contextlib.contextmanager
def real() -> Iterator[Server]:
    """Start a real broker with the measured topic."""
    with real_kafka(RELEASE, jvm=AS_SHIPPED) as kafka:
        create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS)
        yield Server(kafka.bootstrap_servers, kafka.pid_of(1))


def main() -> None:
    """Run every load against both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each side of a comparison (default 3)")
    options = parser.parse_args()
    loads = [replace(load, target=target) for load, target in zip(LOADS, TARGETS, strict=True)]
    try:
        results = [compare(load, options.pairs, other=real, name=f"Kafka {RELEASE}") for load in loads]
    except ToolMissingError as missing:
        print(f"interop: no comparison with a real Kafka: {missing}", file=sys.stderr)
        return
    print(table(results))


if __name__ == "__main__":
    main()
