"""A listener with TLS: accepted clients, the errors of others, and how records become requests."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from cryptography.x509 import load_der_x509_certificate
from kafka import KafkaConsumer

from broker_sim.cluster import Cluster
from broker_sim.config.authorizer_settings import STANDARD_AUTHORIZER
from broker_sim.config.values import ConfigValueError
from broker_sim.errors import ConfigError
from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol_specs.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from sim_runtime.random_streams import RandomStreams
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates, Identity

LISTENERS = "PLAINTEXT://127.0.0.1:0,SECURE://127.0.0.1:0,KNOWN://127.0.0.1:0"
PATIENCE_S = 20.0


def config_of(certificates: Certificates) -> dict[str, str]:
    return {
        "listeners": LISTENERS,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL,KNOWN:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker.file),
        "listener.name.known.ssl.client.auth": "required",
        "listener.name.known.ssl.truststore.type": "PEM",
        "listener.name.known.ssl.truststore.certificates": certificates.authority.pem,
    }


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config=config_of(certificates)) as made:
        yield made


def address(cluster: ThreadedCluster, listener: str) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers_of(listener).rpartition(":")
    return host, int(port)


@contextmanager
def connected(
    cluster: ThreadedCluster, listener: str, certificates: Certificates, identity: Identity | None = None
) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cadata=certificates.authority.pem)
    if identity is not None:
        context.load_cert_chain(identity.file)
    with (
        socket.create_connection(address(cluster, listener), PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        yield secure


def response(connection: socket.socket) -> bytes:
    def exactly(count: int) -> bytes:
        received = b""
        while len(received) < count:
            received += connection.recv(count - len(received)) or pytest.fail(f"closed after {received!r}")
        return received

    return exactly(int.from_bytes(exactly(4), "big"))


def versions(correlation_id: int) -> bytes:
    return encode_request(ApiVersionsRequest(), 0, correlation_id=correlation_id, client_id="test")


def closed_reasons(cluster: ThreadedCluster) -> list[str]:
    return [event.reason for event in cluster.events() if type(event).__name__ == "ConnectionClosed"]  # type: ignore[attr-defined]


def test_confluent_kafka_writes_and_kafka_python_reads_by_tls(
    cluster: ThreadedCluster, certificates: Certificates
) -> None:
    servers = cluster.bootstrap_servers_of("SECURE")
    ca = str(certificates.authority.file)
    producer = ConfluentProducer({"bootstrap.servers": servers, "security.protocol": "SSL", "ssl.ca.location": ca})
    producer.produce("orders", b"by tls")
    assert producer.flush(PATIENCE_S) == 0
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        security_protocol="SSL",
        ssl_cafile=ca,
        auto_offset_reset="earliest",
        group_id=None,
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    assert next(consumer).value == b"by tls"
    consumer.close()


def test_several_requests_of_one_record_are_served_one_by_one(
    cluster: ThreadedCluster, certificates: Certificates
) -> None:
    cluster.add_rule({"name": "held", "select": {"api": "Metadata"}, "act": {"hold": True}})
    metadata = encode_request(MetadataRequest(topics=[]), 1, correlation_id=1, client_id="test")
    with connected(cluster, "SECURE", certificates) as connection:
        connection.sendall(metadata + versions(2) + versions(3))  # one record: the channel is muted after the first
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(PATIENCE_S)
        assert cluster.release_rule("held") == 1
        assert decode_response(MetadataResponse, 1, response(connection))[0] == 1
        assert decode_response(ApiVersionsResponse, 0, response(connection))[0] == 2
        assert decode_response(ApiVersionsResponse, 0, response(connection))[0] == 3
    cluster.remove_rule("held")


def test_a_request_in_several_records_is_one_request(cluster: ThreadedCluster, certificates: Certificates) -> None:
    with connected(cluster, "SECURE", certificates) as connection:
        for byte in versions(7):
            connection.sendall(bytes([byte]))
        assert decode_response(ApiVersionsResponse, 0, response(connection))[0] == 7


def test_the_subject_of_a_certificate_is_the_principal(certificates: Certificates) -> None:
    rights = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    listed = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    sent = encode_request(listed, 3, correlation_id=1, client_id="test")
    with ThreadedCluster(brokers=1, config=config_of(certificates) | rights) as made:
        subject = certificates.client.certificate.subject.rfc4514_string()
        assert subject == "CN=client"
        entry = Acl(
            ResourceType.CLUSTER,
            "kafka-cluster",
            PatternType.LITERAL,
            f"User:{subject}",
            "*",
            AclOperation.DESCRIBE,
            AclPermissionType.ALLOW,
        )
        made.call(lambda: made.cluster.controller.controls.acls.create([entry]))
        found = {}
        for listener, identity in (("KNOWN", certificates.client), ("SECURE", None)):
            with connected(made, listener, certificates, identity) as connection:
                connection.sendall(sent)
                found[listener] = decode_response(DescribeAclsResponse, 3, response(connection))[1].error_code
    assert found == {"KNOWN": 0, "SECURE": 31}


def test_a_listener_has_its_own_client_authentication(cluster: ThreadedCluster, certificates: Certificates) -> None:
    with connected(cluster, "KNOWN", certificates, certificates.client) as connection:
        connection.sendall(versions(1))
        assert decode_response(ApiVersionsResponse, 0, response(connection))[0] == 1
    with (
        connected(cluster, "KNOWN", certificates) as connection,
        # Since TLS 1.3 a client learns of its rejection only after the handshake.
        pytest.raises((ssl.SSLError, ConnectionError), match=r"(?i)certificate|reset"),
    ):
        connection.recv(1)
    assert any("the client has shown no certificate, and ssl.client.auth" in each for each in closed_reasons(cluster))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (versions(1), "the client speaks without TLS: its security.protocol is PLAINTEXT, the listener's SSL"),
        (b"GET / HTTP/1.1\r\n\r\n", "the client speaks HTTP to a TLS listener"),
    ],
)
def test_a_client_without_tls_is_recognized(cluster: ThreadedCluster, sent: bytes, reason: str) -> None:
    with socket.create_connection(address(cluster, "SECURE"), PATIENCE_S) as connection:
        connection.sendall(sent)
        # The responses of Kafka 3.7.2 and 4.3.1.
        assert connection.makefile("rb").read() == bytes.fromhex("15030300020250")
    assert any(reason in each for each in closed_reasons(cluster))


def test_a_client_with_tls_is_recognised_by_a_plaintext_listener(
    cluster: ThreadedCluster, certificates: Certificates
) -> None:
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        connected(cluster, "PLAINTEXT", certificates),
    ):
        pass
    assert any("the client speaks TLS, and the listener does not" in each for each in closed_reasons(cluster))


def test_a_broker_that_stops_ends_its_connections_in_order(certificates: Certificates) -> None:
    with (
        ThreadedCluster(brokers=1, config=config_of(certificates)) as one,
        connected(one, "SECURE", certificates) as connection,
    ):
        connection.sendall(versions(1))
        response(connection)
        one.stop(1)
        assert connection.recv(1) == b""  # by TLS's own word, and not by a reset


def test_a_new_certificate_is_for_new_connections(certificates: Certificates) -> None:
    newer = certificates.authority.issue("broker", file="newer")
    other = certificates.authority.issue("other")
    with ThreadedCluster(brokers=1, config=config_of(certificates)) as one:

        def change(location: str) -> None:
            admin = AdminClient({"bootstrap.servers": one.bootstrap_servers})
            resource = ConfigResource(ConfigResource.Type.BROKER, "1")
            for name, value in (("type", "PEM"), ("location", location)):
                entry = ConfigEntry(
                    f"listener.name.secure.ssl.keystore.{name}",
                    value,
                    incremental_operation=AlterConfigOpType.SET,
                )
                resource.add_incremental_config(entry)
            admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

        def serial() -> int:
            with connected(one, "SECURE", certificates) as connection:
                return load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"").serial_number

        assert serial() == certificates.broker.certificate.serial_number
        change(str(newer.file))
        assert serial() == newer.certificate.serial_number
        with pytest.raises(KafkaException, match="Failed to load PEM SSL keystore /nowhere"):
            change("/nowhere")
        with pytest.raises(KafkaException, match=r"DistinguishedName does not match:  existing=.*DN=CN=broker}, new="):
            change(str(other.file))
        assert serial() == newer.certificate.serial_number


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ssl.keystore.location": None}, "listener SECURE: a listener with TLS needs a certificate"),
        ({"ssl.keystore.type": "JKS"}, "ssl.keystore.type is JKS, its default; which a JVM alone reads"),
        ({"ssl.keystore.location": "/nowhere"}, "ssl.keystore.location='/nowhere' cannot be read: No such file"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth"),
        ({"listener.name.secure.ssl.enabled.protocols": "TLSv1.1"}, "OpenSSL speaks it no longer"),
        ({"ssl.provider": "BC"}, "ssl.provider='BC' is refused: it names a provider of a JVM"),
    ],
)
def test_what_cannot_be_is_refused_when_the_broker_starts(
    certificates: Certificates, changes: dict[str, str | None], words: str
) -> None:
    config: dict[str, Any] = config_of(certificates) | changes
    with pytest.raises((ConfigError, ConfigValueError), match=re.escape(words)):
        ThreadedCluster(brokers=1, config={name: value for name, value in config.items() if value is not None})


def test_virtual_time_refuses_a_key_whose_signatures_differ_in_size(certificates: Certificates) -> None:
    world = World(1)
    cluster = Cluster(
        reactor=world.reactor,
        broker_reactor=lambda broker_id: world.network.host(f"broker-{broker_id}"),
        brokers=1,
        config=config_of(certificates),
        streams=RandomStreams(1),
        host=lambda broker_id: f"broker-{broker_id}",
    )
    with pytest.raises(ConfigError, match=r"listener SECURE: ssl.keystore: the key is an ECDSA key.*use an RSA or Ed"):
        cluster.start()
