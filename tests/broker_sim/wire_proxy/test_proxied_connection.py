from __future__ import annotations

from typing import Any

import pytest

from protocol_specs.framing import decode_response
from protocol_specs.messages.api_versions import ApiVersionsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic

near = pytest.approx


def test_responses_keep_their_order(network: Any) -> None:
    client = network.connect_to()
    for correlation_id in range(5):
        client.send(correlation_id=correlation_id)
    network.run(10)
    assert [decode_response(ApiVersionsResponse, 0, frame)[0] for frame in client.frames] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("phase", ["before_parse", "before_response"])
def test_requests_are_delayed(network: Any, phase: str) -> None:
    network.rule({"delay_ms": 30}, phase=phase, select={"client": "app"})
    assert network.exchange(network.connect_to()) == near(30, abs=1)
    assert network.exchange(network.connect_to(client_id="other")) == near(0, abs=1)


def test_a_held_request_goes_on_at_the_end(network: Any) -> None:
    network.rule("hold", select={"api": "ApiVersions"}, until={"delay_ms": 50})
    client = network.connect_to()
    assert network.exchange(client, within_ms=30) is None
    network.run(60)
    assert len(client.responses) == 1


@pytest.mark.parametrize("phase", ["before_parse", "before_response"])
def test_a_rule_disconnects(network: Any, phase: str) -> None:
    network.rule("disconnect", phase=phase, select={"nth": 2})
    client = network.connect_to()
    assert network.exchange(client) is not None
    assert network.exchange(client) is None
    assert client.ended_ms is not None


@pytest.mark.parametrize("phase", ["before_parse", "before_response"])
def test_a_lost_response_leaves_the_connection_open_and_silent(network: Any, phase: str) -> None:
    network.rule("drop_response", phase=phase, select={"nth": 2})
    client = network.connect_to()
    assert network.exchange(client) is not None
    assert network.exchange(client) is None
    assert network.exchange(client) is None
    assert client.ended_ms is None


@pytest.mark.parametrize("phase", ["before_parse", "before_response"])
def test_an_error_takes_the_place_of_the_response(network: Any, phase: str) -> None:
    network.rule({"error": "UNSUPPORTED_VERSION"}, phase=phase, select={"nth": 2})
    client = network.connect_to()
    for correlation_id in range(3):
        client.send(correlation_id=correlation_id)
    network.run(10)
    responses = [decode_response(ApiVersionsResponse, 0, frame) for frame in client.frames]
    assert [(correlation_id, response.error_code) for correlation_id, response in responses] == [
        (0, 0),
        (1, 35),
        (2, 0),
    ]


def test_a_response_is_edited(network: Any) -> None:
    network.rule({"edit": [{"set": "error_code", "to": 7}]}, phase="before_response", select={"api": "ApiVersions"})
    client = network.connect_to()
    network.exchange(client)
    assert decode_response(ApiVersionsResponse, 0, client.frames[0])[1].error_code == 7


def test_a_response_is_cut(network: Any) -> None:
    network.rule({"cut_bytes": 7}, phase="mid_response", select={"api": "ApiVersions"})
    client = network.connect_to()
    assert network.exchange(client) is None
    assert client.received == 7
    assert client.ended_ms is not None


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        ({"duplicate_response": 1}, [0, 0, 1, 1, 2, 2]),
        ({"reorder_responses": 2}, [1, 0, 2]),
        ({"drip": {"first_bytes": 5, "stall_ms": 30}}, [0, 1, 2]),
    ],
)
def test_responses_come_twice_or_in_another_order_or_in_parts(network: Any, act: Any, expected: list[int]) -> None:
    network.rule(act, phase="mid_response", select={"api": "ApiVersions"})
    client = network.connect_to()
    for correlation_id in range(3):
        client.send(correlation_id=correlation_id)
    network.run(20)
    at_once = len(client.frames)
    network.run(2_000)
    assert [decode_response(ApiVersionsResponse, 0, frame)[0] for frame in client.frames] == expected
    assert at_once == {"duplicate_response": 6, "reorder_responses": 2, "drip": 0}[next(iter(act))]


def test_a_request_is_selected_by_its_topic(network: Any) -> None:
    network.rule("disconnect", select={"api": "Metadata", "topic": "orders"}, phase="before_parse")
    client = network.connect_to()
    other = MetadataRequest(topics=[MetadataRequestTopic(name="other")])
    assert network.call(client, other, 4) is not None
    assert network.call(client, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 4) is None


def test_the_end_of_the_broker_is_the_end_of_the_connection(network: Any) -> None:
    client = network.connect_to(2)
    network.exchange(client)
    network.cluster.kill(2)
    network.run(10)
    assert client.ended_ms is not None
    refused = network.connect_to(2)
    network.run(10)
    assert refused.ended_ms is not None


def test_bytes_that_are_no_request_pass(network: Any) -> None:
    client = network.connect_to()
    client._peer.transport.write(b"\0\0\0\x08" + b"\x7f\xff" + bytes(6))
    network.run(10)
    assert client.ended_ms is not None
