"""Toxiproxy's own client for Python drives the faults of connections."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from toxiproxy.exceptions import InvalidToxic, NotFound
from toxiproxy.server import Toxiproxy

from protocol_specs.framing import encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest
from tests.broker_sim.http_control.sent_records import SECONDS_MAX, send, servers_of

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


@pytest.fixture
def cluster(control: Control) -> Any:
    path = control.new_cluster(brokers=1, topics=["orders:1:1"])
    yield path
    control.call("DELETE", path)


@pytest.fixture
def toxiproxy(control: Control, cluster: str) -> Toxiproxy:
    client = Toxiproxy()
    host, port = control.url.removeprefix("http://").rsplit(":", 1)
    client.update_api_consumer(host, int(port))
    assert client.running()
    return client


def received(servers: str) -> int | None:
    """Return the number of bytes of the response to a first request, None if the connection is refused."""
    host, port = servers.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), SECONDS_MAX) as client:
            client.sendall(encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id="c"))
            size = client.recv(4, socket.MSG_WAITALL)
            return len(size + client.recv(int.from_bytes(size), socket.MSG_WAITALL))
    except ConnectionError:
        return None


def test_a_toxic_acts_until_it_is_removed(control: Control, cluster: str, toxiproxy: Toxiproxy) -> None:
    servers = servers_of(control, cluster)
    proxy = toxiproxy.create(name="kafka", upstream=servers)
    assert proxy.listen == servers
    whole = received(servers)
    assert whole is not None
    assert whole > 10
    proxy.add_toxic(type="limit_data", attributes={"bytes": 10})
    toxic = proxy.toxics()["limit_data_downstream"]
    assert (toxic.type, toxic.stream, toxic.attributes) == ("limit_data", "downstream", {"bytes": 10})
    assert received(servers) == 10
    [rule] = control.get(f"{cluster}/rules")
    assert (rule["act"], rule["fired"]) == ("toxic", 1)
    proxy.destroy_toxic("limit_data_downstream")
    assert proxy.toxics() == {}
    assert control.get(f"{cluster}/rules") == []
    assert received(servers) == whole


def test_a_proxy_that_is_down_refuses_connections(control: Control, cluster: str, toxiproxy: Toxiproxy) -> None:
    servers = servers_of(control, cluster)
    proxy = toxiproxy.create(name="kafka", upstream=servers)
    with proxy.down():
        assert toxiproxy.get_proxy("kafka").enabled is False
        assert received(servers) is None
    assert toxiproxy.get_proxy("kafka").enabled is True
    assert send(servers) == [0]


def test_reset_ends_all_toxics(control: Control, cluster: str, toxiproxy: Toxiproxy) -> None:
    name = f"{cluster.removeprefix('/clusters/')}.broker-1"
    proxy = toxiproxy.get_proxy(name)
    proxy.add_toxic(type="bandwidth", stream="upstream", attributes={"rate": 1})
    proxy.disable()
    toxiproxy.reset()
    assert (toxiproxy.get_proxy(name).enabled, proxy.toxics()) == (True, {})
    changed = control.call("POST", f"/proxies/{name}/toxics", {"type": "slow_close", "attributes": {"delay": 1}})
    assert changed.json["name"] == "slow_close_downstream"
    changed = control.call("PATCH", f"/proxies/{name}/toxics/slow_close_downstream", {"attributes": {"delay": 2}})
    assert changed.json["attributes"] == {"delay": 2}
    assert control.call("DELETE", f"/proxies/{name}").status == 204
    assert proxy.toxics() == {}


def test_mistakes_are_those_of_toxiproxy(control: Control, cluster: str, toxiproxy: Toxiproxy) -> None:
    servers = servers_of(control, cluster)
    proxy = toxiproxy.create(name="kafka", upstream=servers)
    with pytest.raises(InvalidToxic, match="did you mean"):
        proxy.add_toxic(type="latencies")
    with pytest.raises(InvalidToxic, match="latency has the attributes latency, jitter, not"):
        proxy.add_toxic(type="latency", attributes={"late": 1})
    with pytest.raises(NotFound, match="has no toxic"):
        proxy.destroy_toxic("none")
    with pytest.raises(InvalidToxic, match="is the address of no broker"):
        toxiproxy.create(name="other", upstream="127.0.0.1:1")
    with pytest.raises(InvalidToxic, match="own address"):
        toxiproxy.create(name="other", upstream=servers, listen="127.0.0.1:1")
    proxy.add_toxic(type="latency", attributes={"latency": 1})
    assert control.call("POST", "/proxies/kafka/toxics", {"type": "latency"}).status == 409
