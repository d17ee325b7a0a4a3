"""Metrics of the Java consumer after the same calls on the same records: the recorded data are still true."""

from __future__ import annotations

import pytest

from tests.client.core.metrics.consumer_metrics_as_java import PROTOCOLS, SHARE, recorded, write
from tests.interop.java_consumer_metrics import SERVED, run_java
from tests.interop.served_cluster import served_cluster


@pytest.mark.parametrize("protocol", [*PROTOCOLS, SHARE])
def test_java_measures_what_was_recorded(protocol: str) -> None:
    with served_cluster(*SERVED) as served:
        write(served.bootstrap_servers)
        assert run_java(served.bootstrap_servers, protocol) == recorded(protocol)
