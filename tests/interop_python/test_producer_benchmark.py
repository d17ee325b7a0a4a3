"""benchmarks/producer.py with a few records: every client sends, is acknowledged and is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.measured_producers import Run, measure
from benchmarks.producer import RECORDS, TOPIC, served
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.served_cluster import ServedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServedCluster]:
    with served_cluster(*served()) as running:
        yield running


@pytest.mark.parametrize("client", RECORDS)
@pytest.mark.parametrize(("kind", "records"), [("throughput", 2_000), ("latency", 30)])
def test_every_client_is_measured(cluster: ServedCluster, client: str, kind: str, records: int) -> None:
    run = Run(client=client, kind=kind, servers=cluster.bootstrap_servers, topic=TOPIC, records=records)
    measured = measure(run)
    assert measured.figure > 0
    assert measured.cpu_us > 0
    assert measured.memory_mb > 0


def test_records_that_no_broker_takes_are_measured(cluster: ServedCluster) -> None:
    run = Run(
        client="ours",
        kind="pending",
        servers=cluster.bootstrap_servers,
        topic=TOPIC,
        records=5_000,
        server_pid=cluster.process.pid,
    )
    assert measure(run).figure > 1
