"""A name stands for several addresses: which one an attempt takes, and when the name is resolved anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import DNSLookupError
from twisted.internet.protocol import ClientFactory

from broker_client.core.network.host_addresses import ConnectionAttempt, HostAddresses

if TYPE_CHECKING:
    from twisted.python.failure import Failure


class Resolver:
    """Responds when the test requires it."""

    def __init__(self) -> None:
        self.requested: list[str] = []
        self.waiting: list[Any] = []
        self.responses: list[str] = []
        self.at_once = True

    def resolveHostName(self, receiver: Any, host: str, port: int) -> None:  # noqa: N802
        self.requested.append(f"{host}:{port}")
        self.waiting.append(receiver)
        if self.at_once:
            self.response()

    def response(self) -> None:
        receiver = self.waiting.pop()
        receiver.resolutionBegan(None)
        for host in self.responses:
            kind = IPv6Address if ":" in host else IPv4Address
            receiver.addressResolved(kind("TCP", host, 9))
        receiver.resolutionComplete()


class Connector:
    """A connection that is being made."""

    disconnected = False

    def disconnect(self) -> None:
        self.disconnected = True


class Reactor:
    """Keeps what is connected to."""

    def __init__(self) -> None:
        self.nameResolver = Resolver()
        self.connects: list[str] = []
        self.connectors: list[Connector] = []

    def connectTCP(self, host: str, port: int, factory: object, timeout: float) -> Connector:  # noqa: ARG002, N802
        self.connects.append(host)
        self.connectors.append(Connector())
        return self.connectors[-1]


class Factory(ClientFactory):
    """Receives failures."""

    failure: Failure | None = None

    def clientConnectionFailed(self, connector: object, reason: Failure) -> None:  # noqa: ARG002, N802
        self.failure = reason


@pytest.fixture
def reactor() -> Reactor:
    return Reactor()


@pytest.fixture
def addresses(reactor: Reactor) -> HostAddresses:
    return HostAddresses(reactor)  # type: ignore[arg-type]  # the methods of a reactor that are used here


def attempt(addresses: HostAddresses, host: str = "kafka", factory: Factory | None = None) -> ConnectionAttempt:
    return addresses.connect(1, host, 9, factory or Factory(), 5)


def test_each_attempt_takes_the_next_address_and_then_resolves_again(
    reactor: Reactor, addresses: HostAddresses
) -> None:
    reactor.nameResolver.responses = ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    for _ in range(3):
        attempt(addresses)
    assert reactor.connects == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert reactor.nameResolver.requested == ["kafka:9", "kafka:9"]


def test_after_a_connection_the_name_is_resolved_anew_and_another_address_is_taken(
    reactor: Reactor, addresses: HostAddresses
) -> None:
    reactor.nameResolver.responses = ["10.0.0.1", "10.0.0.2"]
    attempt(addresses)
    addresses.connected(1)
    attempt(addresses)
    assert reactor.connects == ["10.0.0.1", "10.0.0.2"]
    assert len(reactor.nameResolver.requested) == 2


def test_one_address_is_tried_again_and_again(reactor: Reactor, addresses: HostAddresses) -> None:
    reactor.nameResolver.responses = ["10.0.0.1"]
    attempt(addresses)
    attempt(addresses)
    assert reactor.connects == ["10.0.0.1", "10.0.0.1"]


def test_only_the_family_of_the_first_address_counts(reactor: Reactor, addresses: HostAddresses) -> None:
    reactor.nameResolver.responses = ["::1", "10.0.0.1", "::2"]
    for _ in range(2):
        attempt(addresses)
    assert reactor.connects == ["::1", "::2"]


def test_a_new_name_of_a_node_is_resolved(reactor: Reactor, addresses: HostAddresses) -> None:
    reactor.nameResolver.responses = ["10.0.0.1", "10.0.0.2"]
    attempt(addresses)
    attempt(addresses, "other")
    assert reactor.nameResolver.requested == ["kafka:9", "other:9"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_needs_no_resolver(reactor: Reactor, addresses: HostAddresses, host: str) -> None:
    attempt(addresses, host)
    assert (reactor.connects, reactor.nameResolver.requested) == ([host], [])


def test_a_name_that_stands_for_nothing_fails_as_a_lookup(addresses: HostAddresses) -> None:
    factory = Factory()
    attempt(addresses, factory=factory)
    assert factory.failure is not None
    assert factory.failure.check(DNSLookupError)


def test_what_is_given_up_before_the_name_is_known_connects_to_nothing(
    reactor: Reactor, addresses: HostAddresses
) -> None:
    reactor.nameResolver.at_once = False
    reactor.nameResolver.responses = ["10.0.0.1"]
    attempt(addresses).disconnect()
    reactor.nameResolver.response()
    assert reactor.connects == []


def test_what_is_given_up_later_is_the_connectors_matter(reactor: Reactor, addresses: HostAddresses) -> None:
    reactor.nameResolver.responses = ["10.0.0.1"]
    attempt(addresses).disconnect()
    assert reactor.connectors[0].disconnected
