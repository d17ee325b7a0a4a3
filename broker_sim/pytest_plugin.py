"""Fixtures for tests of Kafka clients: `kafka_cluster` and `kafka_cluster_factory`.

`kafka_cluster` is a cluster of three brokers on TCP, fresh for each test; the marker `kafka_cluster(brokers=...,
topics=..., config=..., release=...)` gives it another shape. `kafka_cluster_factory(brokers=..., ...)` makes as many
as a test wants.
Both give ThreadedCluster objects, close them after the test, and fail a test whose fault rules never struck. They
notice a killed broker after a second (QUICK_FAILOVER), unless the test's configuration says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_sim.threaded_cluster import ThreadedCluster

__all__ = ["kafka_cluster", "kafka_cluster_factory", "pytest_configure"]

QUICK_FAILOVER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
    "zookeeper.session.timeout.ms": "1000",
}
"""A killed broker is noticed after a second, not after Kafka's nine; a test's own `config` goes before it.

A release gets what it knows of it."""

MARKER = "kafka_cluster(brokers, topics, config, release): the shape of this test's kafka_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def kafka_cluster_factory() -> Iterator[Callable[..., ThreadedCluster]]:
    """Make clusters: `kafka_cluster_factory(brokers=1, topics=["orders:6:1"], config={...})`."""
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_sim.config.definitions import broker_definitions
    from broker_sim.config.release_behaviour import DEFAULT_RELEASE
    from broker_sim.threaded_cluster import ThreadedCluster

    clusters: list[ThreadedCluster] = []

    def make(
        config: Mapping[str, str] | None = None, *, release: str = DEFAULT_RELEASE, **shape: Any
    ) -> ThreadedCluster:
        known = broker_definitions(release)
        quick = {name: value for name, value in QUICK_FAILOVER.items() if name in known}
        cluster = ThreadedCluster(config={**quick, **(config or {})}, release=release, **shape)
        clusters.append(cluster)
        return cluster

    yield make
    problems: list[str] = []
    for cluster in clusters:
        try:
            problems.extend(
                f"rule {report.name!r}: {report.problem}" for report in cluster.rule_reports() if report.problem
            )
        finally:
            cluster.close()
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def kafka_cluster(
    request: pytest.FixtureRequest, kafka_cluster_factory: Callable[..., ThreadedCluster]
) -> ThreadedCluster:
    """Three brokers on TCP, fresh for this test; a marker of the same name changes the shape."""
    marker = request.node.get_closest_marker("kafka_cluster")
    return kafka_cluster_factory(**(marker.kwargs if marker is not None else {}))
