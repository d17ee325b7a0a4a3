from __future__ import annotations

import pytest

from broker_sim.control.journal import Journal
from broker_sim.wire_proxy.exchange import Exchange
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import encode_request
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.produce import ProduceRequest


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
