"""`broker-sim serve --release`, as the documentation has it."""

from __future__ import annotations

import pytest

from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from tests.broker_sim.config.conftest import RawClient
from tests.interop.served_cluster import served_cluster


@pytest.mark.parametrize(
    "arguments",
    [["--release", "0.10.2", "-o", "log.message.format.version=0.9.0"], ["--release", "0.8"], ["--release", "2.8"]],
)
def test_serve_starts_a_cluster_of_an_old_release(arguments: list[str]) -> None:
    with served_cluster("--topic", "orders:6:3", *arguments) as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[0].partition(":")
        client = RawClient((host, int(port)))
        [topic] = client.call(MetadataRequest(topics=[]), 0, MetadataResponse).topics
        client.close()
    assert (topic.name, len(topic.partitions)) == ("orders", 6)
