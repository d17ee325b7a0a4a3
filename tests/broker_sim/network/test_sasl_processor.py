"""A SASL listener on virtual time, frame by frame, and one real client on TCP."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster
from broker_sim.control.events import AuthenticationFailed, AuthenticationSucceeded
from broker_sim.faults.grammar import parse_rule
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import FrameReader, decode_response, encode_request, framed
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.produce import ProduceRequest, TopicProduceData
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest
from protocol_specs.registry import response_type
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="pw2";'
CONFIG = {
    "listeners": "PLAINTEXT://:9092,CLIENT://:9192",
    "advertised.listeners": "PLAINTEXT://:9092,CLIENT://:9192",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.client.plain.sasl.jaas.config": MODULE,
}
GOOD = b"\0alice\0secret"
WRONG = b"\0alice\0x"
HANDSHAKE = SaslHandshakeRequest(mechanism="PLAIN")
METADATA = MetadataRequest(topics=[])
PATIENCE_S = 20.0


class Client(Protocol):
    """One connection; responses are decoded in the order of the requests."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.reader = FrameReader(limit_bytes=1 << 20, option="test")
        self.frames: list[bytes] = []
        self.closed = False
        self.sent = 0

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.frames += self.reader.receive(data)

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802
        self.closed = True

    def request(self, message: Any, version: int = 1, *, wait_s: float = 0.05) -> Any:
        """Send a request; return its response, or None if none arrives in time."""
        self.sent += 1
        self.write(encode_request(message, version, correlation_id=self.sent, client_id="test"), wait_s=wait_s)
        if not self.frames:
            return None
        correlation_id, response = decode_response(response_type(message.API_KEY), version, self.frames.pop(0))
        assert correlation_id == self.sent
        return response

    def write(self, data: bytes, *, wait_s: float = 0.05) -> None:
        assert self.transport is not None
        self.transport.write(data)
        self.served.run(wait_s)

    def token(self, data: bytes = GOOD, version: int = 2, *, wait_s: float = 0.05) -> Any:
        return self.request(SaslAuthenticateRequest(auth_bytes=data), version, wait_s=wait_s)


class Served:
    """A broker with a SASL listener."""

    def __init__(self, *, release: str = "4.3.1", **others: str) -> None:
        self.world = World(1)
        config = CONFIG | {name.replace("_", "."): value for name, value in others.items()}
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=1,
            config=config,
            release=release,
            host=lambda broker_id: f"b{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"b{broker_id}"),
        )
        self.cluster.start()

    def run(self, seconds: float) -> None:
        self.world.run_for(ms=seconds * 1000)

    def connect(self, port: int = 9192) -> Client:
        client = Client(self)
        factory = ClientFactory.forProtocol(lambda: client)
        factory.noisy = False
        self.world.network.host("client").connectTCP("b1", port, factory)
        self.run(0.05)
        return client

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.cluster.journal.events if isinstance(event, kind)]


def logged_in(served: Served) -> Client:
    client = served.connect()
    assert client.request(HANDSHAKE).error_code == 0
    assert client.token().error_code == 0
    return client


def test_requests_are_served_after_the_authentication() -> None:
    served = Served()
    client = served.connect()
    assert client.request(ApiVersionsRequest(), 0).error_code == 0
    assert client.request(HANDSHAKE).mechanisms == ["PLAIN"]
    response = client.token()
    assert (response.error_code, response.error_message, response.session_lifetime_ms) == (0, "", 0)
    assert client.request(METADATA, 9).brokers[0].port == 9192
    assert [event.principal for event in served.events(AuthenticationSucceeded)] == ["User:alice"]
    assert client.request(HANDSHAKE).error_code == 34
    assert client.token().error_message == "SaslAuthenticate request received after successful authentication"
    assert not client.closed


def test_a_listener_without_sasl_refuses_it_and_goes_on() -> None:
    client = Served().connect(9092)
    refused = client.request(HANDSHAKE)
    assert (refused.error_code, refused.mechanisms) == (34, [])
    assert client.token(version=0).error_code == 34
    assert client.request(METADATA, 9).error_code == 0


def test_a_wrong_password_waits_for_its_response_and_the_close() -> None:
    served = Served()
    client = served.connect()
    client.request(HANDSHAKE)
    assert client.token(WRONG) is None
    assert not client.closed
    served.run(0.1)
    (frame,) = client.frames
    _, response = decode_response(response_type(SaslAuthenticateRequest.API_KEY), 2, frame)
    assert (response.error_code, response.error_message) == (58, "Authentication failed: Invalid username or password")
    assert client.closed
    (failed,) = served.events(AuthenticationFailed)
    assert (failed.mechanism, failed.reason) == ("PLAIN", "Authentication failed: Invalid username or password")


def test_without_a_delay_the_failure_is_immediate() -> None:
    client = Served(connection_failed_authentication_delay_ms="0").connect()
    assert client.request(SaslHandshakeRequest(mechanism="NOPE")).error_code == 33
    assert client.closed


def test_bare_tokens_have_bare_responses() -> None:
    client = Served().connect()
    client.request(HANDSHAKE, 0)
    client.write(framed(GOOD))
    assert client.frames == [b""]
    client.frames.clear()
    assert client.request(METADATA, 9).error_code == 0


@pytest.mark.parametrize("before", [[], [HANDSHAKE]])
def test_a_request_before_the_authentication_is_not_served(before: list[Any]) -> None:
    client = Served().connect()
    for message in before:
        client.request(message)
    response = client.request(METADATA, 9, wait_s=0.2)
    assert client.closed
    assert response is None or not response.brokers


def test_a_later_request_of_the_same_bytes_is_dropped() -> None:
    served = Served()
    client = served.connect()
    client.request(HANDSHAKE)
    wrong = encode_request(SaslAuthenticateRequest(auth_bytes=WRONG), 2, correlation_id=2, client_id="test")
    client.write(wrong + encode_request(METADATA, 9, correlation_id=3, client_id="test"), wait_s=0.3)
    assert len(client.frames) == 1
    assert client.closed


def test_requests_that_arrive_together_are_served_in_order() -> None:
    client = Served().connect()
    messages = [(HANDSHAKE, 1), (SaslAuthenticateRequest(auth_bytes=GOOD), 2), (METADATA, 9)]
    client.write(
        b"".join(encode_request(each, version, correlation_id=7, client_id="test") for each, version in messages)
    )
    assert len(client.frames) == 3


@pytest.mark.parametrize("size", [1001, -1])
def test_an_invalid_size_is_a_failed_authentication(size: int) -> None:
    served = Served(sasl_server_max_receive_size="1000")
    client = served.connect()
    client.write(struct.pack(">i", size))
    assert not client.closed
    served.run(0.1)
    assert (client.closed, client.frames) == (True, [])
    assert len(served.events(AuthenticationFailed)) == 1


def test_a_larger_request_is_valid_after_the_authentication() -> None:
    served = Served(sasl_server_max_receive_size="1000")
    client = logged_in(served)
    assert client.request(SaslHandshakeRequest(mechanism="x" * 2000)).error_code == 34


def test_an_expired_session_closes_with_the_next_request() -> None:
    served = Served(connections_max_reauth_ms="2500")
    client = logged_in(served)
    served.run(2.4)
    assert client.request(METADATA, 9).error_code == 0
    served.run(0.1)
    assert not client.closed
    assert client.request(METADATA, 9) is None
    assert client.closed


def test_a_session_is_renewed_at_most_once_per_second() -> None:
    served = Served(connections_max_reauth_ms="2500")
    client = logged_in(served)
    assert client.request(HANDSHAKE).error_code == 0
    assert client.token().session_lifetime_ms == 2500
    assert client.request(HANDSHAKE).error_code == 34
    served.run(2.6)
    assert client.request(HANDSHAKE).error_code == 0, "a renewal after the end is possible"
    assert client.token().error_code == 0
    assert client.request(METADATA, 9).error_code == 0
    assert len(served.events(AuthenticationSucceeded)) == 3


def test_other_requests_during_a_renewal_are_refused() -> None:
    client = logged_in(Served(connections_max_reauth_ms="2500"))
    client.request(HANDSHAKE)
    assert client.request(METADATA, 9, wait_s=0.3).brokers == []
    assert client.closed


@pytest.mark.parametrize("model", ["classic", "pipelined"])
def test_every_thread_model_authenticates(model: str) -> None:
    served = Served(thread_model=model)
    client = logged_in(served)
    assert client.request(METADATA, 9).error_code == 0
    other = served.connect()
    assert other.request(METADATA, 9, wait_s=0.3) is None
    assert other.closed


def test_a_client_that_leaves_during_the_delay_is_forgotten() -> None:
    served = Served()
    client = served.connect()
    client.request(HANDSHAKE)
    client.token(WRONG)
    assert client.transport is not None
    client.transport.loseConnection()
    served.run(0.3)
    server = served.cluster.brokers[1].socket_server
    assert server is not None
    assert server.connections == 0


@pytest.fixture(scope="module")
def on_tcp(certificates: Certificates) -> Iterator[ThreadedCluster]:
    config = CONFIG | {
        "listeners": "PLAINTEXT://127.0.0.1:0,CLIENT://127.0.0.1:0,SECURE://127.0.0.1:0",
        "listener.security.protocol.map": CONFIG["listener.security.protocol.map"] + ",SECURE:SASL_SSL",
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": MODULE,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker.file),
        "ssl.client.auth": "required",
        "group.initial.rebalance.delay.ms": "0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.client.scram-sha-256.sasl.jaas.config": SCRAM_MODULE,
    }
    del config["advertised.listeners"]
    with ThreadedCluster(brokers=1, topics=["orders:1:1", "paid:1:1"], config=config) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        added = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("carol", info, b"pw")])
        added["carol"].result(PATIENCE_S)
        yield cluster


@pytest.mark.parametrize(
    ("topic", "mechanism", "user", "password"),
    [("orders", "PLAIN", "alice", "secret"), ("paid", "SCRAM-SHA-256", "carol", "pw")],
)
def test_librdkafka_produces_and_consumes(
    on_tcp: ThreadedCluster, topic: str, mechanism: str, user: str, password: str
) -> None:
    login = {
        "bootstrap.servers": on_tcp.bootstrap_servers_of("CLIENT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    producer = Producer(login)
    producer.produce(topic, b"by alice")
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer({**login, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message is not None
    assert message.value() == b"by alice"


def test_a_password_authenticates_behind_tls_without_a_certificate(
    on_tcp: ThreadedCluster, certificates: Certificates
) -> None:
    producer = Producer(
        {
            "bootstrap.servers": on_tcp.bootstrap_servers_of("SECURE"),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(certificates.authority.file),
            "sasl.mechanism": "PLAIN",
            "sasl.username": "bob",
            "sasl.password": "pw2",
        }
    )
    producer.produce("orders", b"by bob")
    assert producer.flush(PATIENCE_S) == 0
    events = [event for event in on_tcp.events() if isinstance(event, AuthenticationSucceeded)]
    assert ("SECURE", "User:bob") in [(event.listener, event.principal) for event in events]


def test_a_quota_of_a_user_applies_to_that_principal() -> None:
    served = Served()
    served.cluster.admin.alter_quota({"user": "alice"}, {"producer_byte_rate": 100.0})
    served.run(0.5)
    alice, bob = logged_in(served), served.connect()
    bob.request(HANDSHAKE)
    bob.token(b"\0bob\0pw2")
    produce = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="x" * 5000)])
    assert alice.request(produce, 7).throttle_time_ms > 0
    assert bob.request(produce, 7).throttle_time_ms == 0


def test_fault_rules_apply_to_an_authentication() -> None:
    served = Served()
    rule = {"name": "slow", "select": {"api": "SaslAuthenticate"}, "act": {"delay_ms": 500}}
    served.cluster.faults.add(parse_rule(rule, default_name="slow"))
    client = served.connect()
    client.request(HANDSHAKE)
    assert client.token(wait_s=0.4) is None
    served.run(0.2)
    assert len(client.frames) == 1
    client.frames.clear()
    assert client.request(METADATA, 9).error_code == 0
