"""DescribeCluster, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def every_version(probe: Probe) -> None:
    for version in range(3):
        probe.exchange(DescribeClusterRequest(), version)


@case()
def with_operations(probe: Probe) -> None:
    for version in range(3):
        probe.exchange(DescribeClusterRequest(include_cluster_authorized_operations=True), version)


@case()
def endpoint_types(probe: Probe) -> None:
    for endpoint_type in (0, 1, 2, 3, 9, -1):
        for version in (1, 2):
            probe.exchange(DescribeClusterRequest(endpoint_type=endpoint_type), version, note=str(endpoint_type))


@case()
def with_fenced_brokers(probe: Probe) -> None:
    probe.exchange(DescribeClusterRequest(include_fenced_brokers=True), 2)
    probe.exchange(DescribeClusterRequest(include_fenced_brokers=True, endpoint_type=2), 2)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\0", "no tags"),
        (0, b"\0\0more", "more bytes"),
        (0, b"\5\0", "a flag of 5"),
        (1, b"\0\0", "no endpoint type"),
        (1, b"\0\1\1\5\1x", "a tag"),
    ):
        probe.raw_body(60, version, body, note=note)
