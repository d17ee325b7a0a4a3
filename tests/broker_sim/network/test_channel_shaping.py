"""Faults of the connections of real clients, with and without TLS."""

from __future__ import annotations

import socket
import ssl
import sys
from contextlib import ExitStack, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.link_action import Ends, WireFault
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest
from sim_runtime.wire_shaping import Bandwidth, Latency, Limit, Reset
from tests.broker_sim.wire_clients import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates

PATIENCE_S = 20.0
LISTENERS = ["PLAINTEXT", "SECURE"]


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    config = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SECURE://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker.file),
    }
    with ThreadedCluster(brokers=1, config=config) as made:
        yield made


@pytest.fixture
def connect(cluster: ThreadedCluster, certificates: Certificates) -> Iterator[Any]:
    with ExitStack() as stack:

        def connected(listener: str) -> socket.socket:
            host, _, port = cluster.bootstrap_servers_of(listener).rpartition(":")
            plain = stack.enter_context(socket.create_connection((host, int(port)), PATIENCE_S))
            if listener == "PLAINTEXT":
                return plain
            context = ssl.create_default_context(cadata=certificates.authority.pem)
            return stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))

        yield connected


@contextmanager
def faulty(cluster: ThreadedCluster, *, up: Any = (), down: Any = (), client: str = "app") -> Iterator[None]:
    """Impairments of the two directions between the clients and the broker."""
    clients, nodes = Ends(clients=(client,)), Ends(nodes=(1,))
    faults = [(clients, nodes, up), (nodes, clients, down)]
    begun = [
        cluster.call(
            cluster.cluster.wire.begin,
            WireFault(sources=sources, targets=targets, impairments=tuple(impairments), random=Random(1)),
        )
        for sources, targets, impairments in faults
    ]
    try:
        yield
    finally:
        for end in begun:
            cluster.call(end)


def fastest(connection: socket.socket, client_id: str = "app") -> float:
    """The shortest of some exchanges, in ms: on a busy machine one alone can take long."""
    return min(exchange(connection, client_id) for _ in range(5))


@pytest.mark.parametrize("listener", LISTENERS)
def test_open_and_new_connections_are_slow_until_the_end(cluster: ThreadedCluster, connect: Any, listener: str) -> None:
    open_before = connect(listener)
    exchange(open_before)
    with faulty(cluster, up=[Latency(30, 30)], down=[Latency(20, 20)]):
        assert exchange(open_before) >= 50
        new = connect(listener)
        if listener == "PLAINTEXT":
            assert exchange(new) >= 50
        else:
            assert exchange(new) >= 20  # encrypted, the client is known when its request is there
        assert exchange(new) >= 50
        assert fastest(connect(listener), "other") < 20
    assert fastest(open_before) < 50
    assert fastest(new) < 50


@pytest.mark.parametrize("listener", LISTENERS)
def test_a_limit_closes_the_connection(cluster: ThreadedCluster, connect: Any, listener: str) -> None:
    connection = connect(listener)
    exchange(connection)
    with faulty(cluster, down=[Limit(20)]), pytest.raises((EOFError, ssl.SSLError)):
        exchange(connection)


@pytest.mark.parametrize("listener", LISTENERS)
def test_a_reset_is_a_rst(cluster: ThreadedCluster, connect: Any, listener: str) -> None:
    connection = connect(listener)
    exchange(connection)
    # Python's TLS reports a RST as the end of the stream, until 3.13.
    before = sys.version_info < (3, 13)
    reported = EOFError if listener != "PLAINTEXT" and before else ConnectionResetError
    with faulty(cluster, up=[Reset(after_bytes=5)]), pytest.raises(reported):
        exchange(connection)


def test_a_response_that_waits_in_the_transport_goes_on_through_the_new_layer(
    cluster: ThreadedCluster, connect: Any
) -> None:
    connection = connect("PLAINTEXT")
    request = encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id="app")
    wanted = 12_000  # the broker waits for its responses to be read, long before the last one
    connection.sendall(request * wanted)
    with faulty(cluster, down=[Bandwidth(500_000_000)]):
        frame_size = None
        received = 0
        while frame_size is None or received < wanted * frame_size:
            part = connection.recv(1 << 20)
            assert part
            if frame_size is None:
                frame_size = 4 + int.from_bytes(part[:4], "big")
            received += len(part)
