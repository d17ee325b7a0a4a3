from __future__ import annotations

from broker_sim.wire_proxy.addresses import limit_versions, names_brokers, replace_addresses
from protocol_specs.api_key import ApiKey, Served
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol_specs.messages.fetch import FetchResponse, NodeEndpoint
from protocol_specs.messages.find_coordinator import FindCoordinatorResponse
from protocol_specs.registry import response_type


def test_these_apis_name_brokers_to_clients() -> None:
    clients = [key for key in ApiKey if Served.BROKER in key.facts.served]
    assert {key.api_name for key in clients if names_brokers(key, response_type(key).VERSIONS.highest)} >= {
        "Produce",
        "Fetch",
        "Metadata",
        "FindCoordinator",
        "DescribeCluster",
        "ShareFetch",
        "ShareAcknowledge",
    }


def test_leader_hints_are_at_the_proxy() -> None:
    response = FetchResponse(node_endpoints=[NodeEndpoint(node_id=4, host="kafka", port=9092)])
    assert replace_addresses(response, lambda node_id, _, port: ("proxy", node_id + port))
    assert (response.node_endpoints[0].host, response.node_endpoints[0].port) == ("proxy", 9096)


def test_a_response_without_a_node_stays() -> None:
    response = FindCoordinatorResponse(node_id=-1, host="", port=-1, error_code=15)
    assert not replace_addresses(response, lambda *_: ("proxy", 1))
    assert response.host == ""


def test_old_responses_name_no_brokers() -> None:
    assert [names_brokers(ApiKey.FETCH, version) for version in (15, 16)] == [False, True]
    assert not names_brokers(ApiKey.HEARTBEAT, 4)


def test_versions_that_cannot_be_read_are_not_offered() -> None:
    newest = response_type(ApiKey.METADATA).VERSIONS.highest
    keys = [(ApiKey.METADATA, newest + 5), (ApiKey.HEARTBEAT, 99), (9_999, 3)]
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=int(key), min_version=0, max_version=highest) for key, highest in keys]
    )
    assert limit_versions(response)
    assert [each.max_version for each in response.api_keys] == [newest, 99, 3]
    assert not limit_versions(response)
