"""TLS of the clients: records arrive, and errors are reported at the first send."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer, TopicPartition
from broker_client.admin import Admin
from broker_client.consumer import Consumer
from broker_client.errors import ConfigError, MetadataTimeout, SslAuthenticationFailed
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config=certificates.listeners) as made:
        yield made


@pytest.fixture
def tls(cluster: ThreadedCluster, certificates: Certificates) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap_servers_of("SSL"),
        "security_protocol": "SSL",
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": str(certificates.authority.file),
    }


def failure_of(**options: Any) -> BaseException | None:
    with Producer(max_block_ms=options.pop("max_block_ms", 10_000), **options) as producer:
        return producer.send("unknown so far", b"").exception(20)


def test_records_sent_with_tls_are_read_with_tls(tls: dict[str, Any]) -> None:
    with Admin(**tls) as admin:
        admin.create_topic("admitted", partitions=1)
    values = [b"%d" % number * 900 for number in range(300)]  # more than TCP's buffer takes at once
    with Producer(**tls, linger_ms=5) as producer:
        futures = [producer.send("admitted", value) for value in values]
        producer.flush(20)
        assert [future.result(0).offset for future in futures] == list(range(300))
    with Consumer(**tls) as consumer:
        consumer.assign([TopicPartition("admitted", 0)])
        found: list[bytes | None] = []
        while len(found) < len(values):
            found += [record.value for record in consumer.poll(10.0)]
    assert found == values


def test_a_send_with_acks_0_ends_when_tls_has_the_bytes(tls: dict[str, Any]) -> None:
    with Producer(**tls, acks="0") as producer:
        assert producer.send("orders", b"x").result(10).offset == -1


def test_an_untrusted_broker_fails_the_first_send_at_once(tls: dict[str, Any], certificates: Certificates) -> None:
    failure = failure_of(**tls | {"ssl_truststore_location": str(certificates.stranger.file)})
    assert isinstance(failure, SslAuthenticationFailed)
    assert "CN=broker, is not trusted: ssl.truststore.location" in str(failure)


def test_plaintext_to_a_tls_listener_fails_the_first_send_at_once(tls: dict[str, Any]) -> None:
    failure = failure_of(bootstrap_servers=tls["bootstrap_servers"])
    assert isinstance(failure, SslAuthenticationFailed)
    assert "it is a TLS listener, security.protocol names another (expected SSL, or SASL_SSL with credentials)" in str(
        failure
    )


def test_tls_to_a_plaintext_listener_is_retried_until_the_timeout(
    tls: dict[str, Any], cluster: ThreadedCluster
) -> None:
    failure = failure_of(**tls | {"bootstrap_servers": cluster.bootstrap_servers, "max_block_ms": 300})
    assert isinstance(failure, MetadataTimeout)
    assert "security.protocol=SSL may not be the listener's, which may be PLAINTEXT" in str(failure)


def test_a_silent_server_ends_with_the_set_up_timeout(tls: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failure = failure_of(
            **tls | {"bootstrap_servers": f"127.0.0.1:{silent.getsockname()[1]}", "max_block_ms": 600},
            socket_connection_setup_timeout_ms=200,
            socket_connection_setup_timeout_max_ms=200,
        )
    assert isinstance(failure, MetadataTimeout)
    assert "(socket.connection.setup.timeout.ms)" in str(failure)


@pytest.mark.parametrize("client", [Producer, Consumer, Admin])
def test_invalid_stores_are_refused_by_the_constructor(client: Any, tls: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location='/nowhere' cannot be read: No such file"):
        client(**tls | {"ssl_truststore_location": "/nowhere"})
    with pytest.raises(ConfigError, match=r"ssl\.provider='BC' is refused"):
        client(**tls | {"ssl_provider": "BC"})
    with pytest.raises(ConfigError, match=r"sasl\.mechanism='GSSAPI' is refused: use one of PLAIN"):
        client(**tls | {"security_protocol": "SASL_SSL"})
    assert [each.name for each in threading.enumerate() if each.name.startswith("kafka-")] == []
