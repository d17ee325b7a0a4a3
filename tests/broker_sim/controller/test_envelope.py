"""Requests that a broker forwards to the controller, with their bytes on a wire."""

from __future__ import annotations

from typing import Any

from broker_sim.control.events import RequestReceived
from broker_sim.controller.envelope import ForwardedRequest, ForwardedResponse
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from protocol_specs.messages.envelope import EnvelopeRequest, EnvelopeResponse
from protocol_specs.messages.headers import RequestHeader, ResponseHeader
from protocol_specs.schemas.default_principal_data import DefaultPrincipalData

Make = Any
DELETE = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1_000)


class Connection:
    principal = "User:CN=a,O=b"
    token_authenticated = True


class Context:
    connection = Connection()
    api_version = 6
    client_id = "admin"
    client_host = "10.0.0.7"
    correlation_id = 17


def test_an_envelope_holds_header_and_body_principal_and_address() -> None:
    context: Any = Context()
    forwarded = ForwardedRequest(DELETE, api_version=6, context=context)
    read = EnvelopeRequest.decode(0, forwarded.envelope().encode(0))
    header, position = RequestHeader.decode_from(2, read.request_data, 0)
    assert (header.request_api_key, header.request_api_version, header.correlation_id, header.client_id) == (
        20,
        6,
        17,
        "admin",
    )
    assert DeleteTopicsRequest.decode(6, bytes(read.request_data)[position:]) == DELETE
    assert read.request_principal is not None
    principal = DefaultPrincipalData.decode(0, bytes(read.request_principal)[2:])
    assert (principal.type, principal.name, principal.token_authenticated) == ("User", "CN=a,O=b", True)
    assert read.client_host_address == bytes([10, 0, 0, 7])


def test_the_response_comes_back_in_an_envelope() -> None:
    context: Any = Context()
    forwarded = ForwardedRequest(DELETE, api_version=6, context=context)
    response = ForwardedResponse(forwarded, DeleteTopicsResponse(responses=[]))
    read = EnvelopeResponse.decode(0, response.envelope().encode(0))
    assert read.response_data is not None
    header, position = ResponseHeader.decode_from(1, read.response_data, 0)
    assert header.correlation_id == 17
    assert DeleteTopicsResponse.decode(6, bytes(read.response_data)[position:]) == response.opened()


def test_the_journal_shows_what_is_passed_on_as_envelopes(replicas: Make) -> None:
    cluster = replicas()
    responses: list[Any] = []
    cluster.cluster.broker(2).forward_to_controller(DELETE, timeout_ms=1_000).addCallback(responses.append)
    cluster.run(ms=10)
    assert [each.error_code for each in responses[0].responses] == [0]
    requested = [each for each in cluster.journal.events_of(RequestReceived) if each.broker_id == CONTROLLER_ID]
    assert ("Envelope", 0, "broker-2") in [(each.api, each.api_version, each.client_id) for each in requested]
