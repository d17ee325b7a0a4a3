from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.messages.describe_cluster import DescribeClusterRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


@pytest.mark.parametrize("version", [0, 1, 2])
def test_brokers_are_listed(bench: Callable[..., ApiBench], version: int) -> None:
    api = bench(brokers=3)
    response = api.exchange(DescribeClusterRequest(), version, broker_id=3)
    assert [broker.broker_id for broker in response.brokers] == [1, 2, 3]
    assert (response.error_code, response.error_message, response.endpoint_type) == (0, None, 1)
    assert (response.cluster_id, response.controller_id) == (api.cluster.cluster_id, 3)
    assert response.cluster_authorized_operations == -(2**31)


def test_fenced_brokers_are_listed_on_request(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2)
    api.cluster.kill(2)
    api.reactor.run_for(ms=30_000)
    assert len(api.exchange(DescribeClusterRequest(), 2).brokers) == 1
    response = api.exchange(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(broker.broker_id, broker.is_fenced) for broker in response.brokers] == [(1, False), (2, True)]


@pytest.mark.parametrize(
    ("endpoint_type", "error_code", "message"),
    [
        (2, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"),
        (0, 115, "Unsupported endpoint type 0"),
        (-1, 115, "Unsupported endpoint type -1"),
    ],
)
def test_other_endpoints_are_refused(
    bench: Callable[..., ApiBench], endpoint_type: int, error_code: int, message: str
) -> None:
    response = bench().exchange(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert (response.error_code, response.error_message) == (error_code, message)
    assert (response.cluster_id, response.controller_id, response.brokers) == ("", -1, [])


def test_operations_are_returned_on_request(bench: Callable[..., ApiBench]) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert bench().exchange(request, 0).cluster_authorized_operations == 8096
