from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.http_control.guard import Guard, is_loopback
from broker_sim.http_control.server import BODY_MAX_BYTES
from tests.broker_sim.http_control.conftest import SECONDS_MAX, serving

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control

TOKEN = "a-token-of-one-test"


def test_a_foreign_origin_is_refused(control: Control) -> None:
    assert control.call("GET", "/clusters", Origin="https://evil.example").status == 403
    assert control.call("GET", "/clusters", Origin="null").status == 403
    own = urlsplit(control.url).netloc
    assert control.call("GET", "/clusters", Origin=f"http://{own}").status == 200


def test_a_foreign_host_is_refused(control: Control) -> None:
    assert control.call("GET", "/clusters", Host="evil.example").status == 421
    assert control.call("GET", "/clusters", Host="localhost:1").status == 200


def test_a_token_is_required_everywhere_but_for_health() -> None:
    with serving(Guard("127.0.0.1", TOKEN)) as control:
        assert control.call("GET", "/clusters").status == 401
        assert control.call("GET", "/clusters").headers["WWW-Authenticate"] == "Bearer"
        assert control.call("GET", "/clusters", Authorization=f"Bearer {TOKEN}x").status == 401
        assert control.call("GET", "/clusters", Authorization=f"Basic {TOKEN}").status == 401
        assert control.call("GET", "/clusters", Authorization=f"Bearer {TOKEN}").status == 200
        assert control.call("GET", "/health").status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "host.example"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(BrokerSimError, match="expected --control-token-file"):
        Guard(host)
    Guard(host, TOKEN)


def test_a_short_token_is_refused() -> None:
    with pytest.raises(BrokerSimError, match="3 characters"):
        Guard("127.0.0.1", "abc")


@pytest.mark.parametrize("head", [f"Content-Length: {BODY_MAX_BYTES + 1}", "Transfer-Encoding: chunked"])
def test_a_large_body_is_refused(control: Control, head: str) -> None:
    address = urlsplit(control.url)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection((address.hostname, address.port), SECONDS_MAX) as client:
        client.sendall(f"POST /clusters HTTP/1.1\r\nHost: {address.netloc}\r\n{head}\r\n\r\n".encode())
        received = b""
        try:
            if "chunked" in head:
                for _ in range(BODY_MAX_BYTES // 0x10000 + 1):
                    client.sendall(chunk)
            while data := client.recv(1 << 16):
                received += data
        except ConnectionError:
            pass
        assert received.startswith(b"HTTP/1.1 413")
