from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.kafka_apis import HANDLERS
from broker_sim.control.journal import Journal
from broker_sim.wire_proxy.exchange import Exchange
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import decode_response, encode_request, encode_response
from protocol_specs.message import Message
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.registry import request_type, response_type

if TYPE_CHECKING:
    from protocol_specs.api_key import ApiKey


def exchange(frame: bytes) -> Exchange:
    cluster = ProxiedCluster(Journal(lambda: 0))
    cluster.topic_names[b"i" * 16] = "orders"
    return Exchange(cluster, frame, node_id=2, connection_id="c", request_id=5, now_us=7)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_produce_without_acks_has_no_response(acks: int) -> None:
    frame = encode_request(ProduceRequest(acks=acks, timeout_ms=1), 7, correlation_id=1, client_id="app")[4:]
    assert exchange(frame).has_response is (acks != 0)


def test_the_point_names_the_topics_of_the_body() -> None:
    topics = [MetadataRequestTopic(topic_id=b"i" * 16, name=None)]
    frame = encode_request(MetadataRequest(topics=topics), 12, correlation_id=3, client_id="app")[4:]
    point = exchange(frame).point()
    assert (point.broker_id, point.client_id, point.api_version, point.request_id) == (2, "app", 12, 5)
    assert list(point.places()) == [("orders", None)]


def test_an_unknown_request_is_none() -> None:
    with pytest.raises(ProtocolError):
        exchange(b"\x7f\xff" + bytes(20))


SERVED = HANDLERS.served


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.api_name)
def test_every_api_has_an_error_response_in_place_of_the_broker(api_key: ApiKey) -> None:
    request, kind = request_type(api_key), response_type(api_key)
    handler = HANDLERS.handler_of(api_key)
    for version in request.VERSIONS:
        context: Any = exchange(encode_request(request(), version, correlation_id=3, client_id="app")[4:])
        response = handler.error_response(context.parsed(), context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if isinstance(response, Message):
            frame = encode_response(response, version, correlation_id=3)
            assert decode_response(kind, version, frame[4:])[0] == 3
