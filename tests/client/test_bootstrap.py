"""bootstrap.servers as addresses, and as the canonical names of addresses."""

from __future__ import annotations

import socket

import pytest

from broker_client.bootstrap import canonical_servers, parse_bootstrap_servers
from broker_client.errors import ConfigError
from broker_client.producer_config import ProducerConfig

CANONICAL = "resolve_canonical_bootstrap_servers_only"


@pytest.fixture(autouse=True)
def dns(monkeypatch: pytest.MonkeyPatch) -> None:
    """One name with two addresses, of which one has a name."""

    def resolve(host: str, port: int, *, type: int) -> list[tuple[object, ...]]:  # noqa: A002
        if host != "kafka":
            raise socket.gaierror(host)
        return [(socket.AF_INET, type, 6, "", (address, port)) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1")]

    def name_of(address: tuple[str, int], flags: int) -> tuple[str, str]:
        return ("one.kafka" if address[0] == "10.0.0.1" else address[0], str(address[1]))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "getnameinfo", name_of)


def test_a_name_becomes_the_names_of_its_addresses() -> None:
    assert canonical_servers([("nowhere", 1), ("kafka", 9)]) == (("one.kafka", 9), ("10.0.0.2", 9))


def test_unknown_host_names_are_reported() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers='nowhere:1': none of these names can be resolved"):
        canonical_servers([("nowhere", 1)])


def test_canonical_names_are_looked_up_only_if_configured() -> None:
    plain = ProducerConfig(bootstrap_servers="kafka:9")
    plain.resolve_canonical_names()
    assert plain.bootstrap_servers == (("kafka", 9),)
    canonical = ProducerConfig(bootstrap_servers="kafka:9", client_dns_lookup=CANONICAL)
    canonical.resolve_canonical_names()
    assert canonical.bootstrap_servers == (("one.kafka", 9), ("10.0.0.2", 9))


@pytest.mark.parametrize("servers", ["a:1,", ",a:1", "a b:1", "a:1/path", "bücher:1", ":1", "a:0", "a:65536", []])
def test_an_invalid_address_is_refused(servers: object) -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        parse_bootstrap_servers(servers)
