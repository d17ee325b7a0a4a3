"""SASL of the clients on simulated brokers and TCP: records arrive, and errors are reported at the first send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Admin, AlterConfigOp, ConfigResource, Consumer, Producer, ShareConsumer, TopicPartition
from broker_client.errors import (
    IllegalSaslState,
    MetadataTimeout,
    SaslAuthenticationFailed,
    SslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.sasl.jaas import LOGIN_MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")
PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    logins = {
        f"listener.name.{protocol.lower()}.{mechanism.lower()}.sasl.jaas.config": (
            f"{LOGIN_MODULES[mechanism]} required user_alice=secret;"
        )
        for protocol in PROTOCOLS
        for mechanism in MECHANISMS
    }
    config = {
        **certificates.listeners,
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **logins,
    }
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config=config, quick_groups=True) as made:
        made.create_scram_user("alice", "secret")
        yield made


def login(
    cluster: ThreadedCluster,
    protocol: str,
    mechanism: str,
    password: str = "secret",
    lifetime_s: int = 60,
    **options: Any,
) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap_servers_of(protocol),
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_jaas_config": (
            f"{LOGIN_MODULES[mechanism]} required username=alice password={password} "
            f"unsecuredLoginStringClaim_sub=alice unsecuredLoginLifetimeSeconds='{lifetime_s}';"
        ),
        **options,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_client_logs_in(
    cluster: ThreadedCluster, certificates: Certificates, protocol: str, mechanism: str
) -> None:
    options = login(cluster, protocol, mechanism)
    if protocol == "SASL_SSL":
        options |= {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(certificates.authority.file)}
    topic = f"{protocol}-{mechanism}"
    with Admin(**options) as admin:
        admin.create_topic(topic, partitions=1)
    with Producer(**options) as producer:
        assert producer.send(topic, b"x" * 100_000).result(10).offset == 0
    with Consumer(**options) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [len(record.value or b"") for record in consumer.poll(10.0)] == [100_000]


def failure_of(**options: Any) -> BaseException | None:
    with Producer(**{"max_block_ms": 10_000, **options}) as producer:
        return producer.send("unknown so far", b"").exception(20)


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        ("PLAIN", "Authentication failed: Invalid username or password"),
        ("SCRAM-SHA-256", "invalid credentials with SASL mechanism SCRAM-SHA-256"),
    ],
)
def test_a_wrong_password_fails_the_first_send(cluster: ThreadedCluster, mechanism: str, text: str) -> None:
    failure = failure_of(**login(cluster, "SASL_PLAINTEXT", mechanism, password="wrong"))
    assert isinstance(failure, SaslAuthenticationFailed)
    assert text in str(failure)


def test_an_expired_token_fails_the_first_send(cluster: ThreadedCluster) -> None:
    failure = failure_of(**login(cluster, "SASL_PLAINTEXT", "OAUTHBEARER", lifetime_s=-5))
    assert isinstance(failure, SaslAuthenticationFailed)
    assert str(failure) == '{"status":"invalid_token"}'


def test_a_mechanism_that_is_not_enabled_fails_the_first_send(cluster: ThreadedCluster) -> None:
    failure = failure_of(**login(cluster, "SASL_PLAINTEXT", "SCRAM-SHA-512"))
    assert isinstance(failure, UnsupportedSaslMechanism)
    assert "'SCRAM-SHA-512' not enabled in the server" in str(failure)


def test_a_listener_without_sasl_fails_the_first_send(cluster: ThreadedCluster) -> None:
    options = login(cluster, "SASL_PLAINTEXT", "PLAIN", bootstrap_servers=cluster.bootstrap_servers)
    assert isinstance(failure_of(**options), IllegalSaslState)


def test_a_client_without_sasl_is_retried_until_the_timeout(cluster: ThreadedCluster) -> None:
    failure = failure_of(bootstrap_servers=cluster.bootstrap_servers_of("SASL_PLAINTEXT"), max_block_ms=300)
    assert isinstance(failure, MetadataTimeout)


def test_calls_of_a_consumer_and_an_admin_report_the_refusal(cluster: ThreadedCluster) -> None:
    options = login(cluster, "SASL_PLAINTEXT", "PLAIN", password="wrong")
    with Admin(**options) as admin, pytest.raises(SaslAuthenticationFailed):
        admin.create_topic("never", partitions=1)
    with Consumer(**options) as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        with pytest.raises(SaslAuthenticationFailed):
            consumer.poll(10.0)


def test_a_share_consumer_logs_in(cluster: ThreadedCluster) -> None:
    options = login(cluster, "SASL_PLAINTEXT", "PLAIN")
    with Admin(**options) as admin:
        earliest = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
        admin.incremental_alter_configs({ConfigResource.group("g"): [earliest]})
    with Producer(**options) as producer:
        producer.send("orders", b"shared").result(10)
    with ShareConsumer(group_id="g", **options) as consumer:
        consumer.subscribe(["orders"])
        found: list[bytes | None] = []
        while not found:
            found += [record.value for record in consumer.poll(1.0)]
    assert found == [b"shared"]


def test_sasl_without_tls_on_a_tls_listener_names_the_protocol_that_has_both(cluster: ThreadedCluster) -> None:
    options = login(cluster, "SASL_PLAINTEXT", "PLAIN") | {
        "bootstrap_servers": cluster.bootstrap_servers_of("SASL_SSL")
    }
    failure = failure_of(**options)
    assert isinstance(failure, SslAuthenticationFailed)
    assert str(failure).endswith("security.protocol names another (expected SASL_SSL)")
