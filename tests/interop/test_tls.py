"""TLS between us and Apache Kafka: our clients on its listeners, its tools on ours, and the errors of wrong set-ups."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_client import Producer, TopicPartition
from broker_client.consumer import Consumer
from broker_client.errors import MetadataTimeout, SslAuthenticationFailed
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools
from tests.interop.kafka_with_tls import KafkaWithTls, known, tls_of, trusting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates

RECORDS = 300


@pytest.fixture(scope="module", params=["ours", *RELEASES])
def cluster(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[KafkaWithTls | ThreadedCluster]:
    if request.param == "ours":
        listeners = ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", "SECURE", "KNOWN"))
        with ThreadedCluster(brokers=1, config={**tls_of(certificates), "listeners": listeners}) as ours:
            yield ours
        return
    with tempfile.TemporaryDirectory(prefix="kafka-tls-") as folder:
        kafka = KafkaWithTls(request.param, Path(folder), certificates)
        try:
            kafka.start()
            yield kafka
        finally:
            kafka.stop()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("listener", ["SECURE", "KNOWN"])
def test_what_is_produced_by_tls_is_read_back_by_tls(
    cluster: KafkaWithTls | ThreadedCluster, certificates: Certificates, listener: str, version: str
) -> None:
    topic = f"{listener}-{version}".lower()
    options = (known if listener == "KNOWN" else trusting)(certificates) | {
        "bootstrap.servers": cluster.bootstrap_servers_of(listener),
        "ssl.enabled.protocols": version,
    }
    values = [b"value %d " % number * (number % 500) for number in range(RECORDS)]
    with Producer(options, compression_type="lz4") as producer:
        futures = [producer.send(topic, value, partition=0) for value in values]
        producer.flush(30)
        assert [future.result(0).offset for future in futures] == list(range(RECORDS))
    with Consumer(**options) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        found: list[bytes | None] = []
        while len(found) < RECORDS:
            got = consumer.poll(60.0)
            assert got, f"{len(found)} of {RECORDS}"
            found += [record.value for record in got]
    assert found == values


@pytest.mark.parametrize(
    ("listener", "changes", "words"),
    [
        ("SECURE", {"ssl.truststore.location": "stranger"}, "its certificate, CN=broker, is not trusted"),
        ("KNOWN", {}, "requires"),
        ("SECURE", {"security.protocol": "PLAINTEXT"}, "a TLS record: it is a TLS listener"),
    ],
)
def test_a_mistake_ends_the_first_send_by_name(
    cluster: KafkaWithTls | ThreadedCluster,
    certificates: Certificates,
    listener: str,
    changes: dict[str, str],
    words: str,
) -> None:
    options = trusting(certificates) | changes | {"bootstrap.servers": cluster.bootstrap_servers_of(listener)}
    if options["ssl.truststore.location"] == "stranger":
        options["ssl.truststore.location"] = str(certificates.stranger.file)
    with Producer(options, max_block_ms=5_000) as producer:
        failure = producer.send("nowhere", b"").exception(10)
    assert isinstance(failure, SslAuthenticationFailed), repr(failure)
    assert words in str(failure)


def test_tls_to_a_plaintext_listener_is_logged_at_the_timeout(
    cluster: KafkaWithTls | ThreadedCluster, certificates: Certificates
) -> None:
    options = trusting(certificates) | {"bootstrap.servers": cluster.bootstrap_servers_of("PLAINTEXT")}
    with Producer(options, max_block_ms=1_500) as producer:
        failure = producer.send("nowhere", b"").exception(10)
    assert isinstance(failure, MetadataTimeout)
    assert "security.protocol=SSL may not be the listener's, which may be PLAINTEXT" in str(failure)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("listener", ["SECURE", "KNOWN"])
def test_javas_console_writes_and_reads_by_tls(
    certificates: Certificates, tmp_path: Path, release: str, listener: str
) -> None:
    listeners = "PLAINTEXT://127.0.0.1:0,SECURE://127.0.0.1:0,KNOWN://127.0.0.1:0"
    file = tmp_path / "client.properties"
    options = trusting(certificates)
    if listener == "KNOWN":
        options |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.client.file)}
    file.write_text("".join(f"{name}={value}\n" for name, value in options.items()), "ascii")
    config = {**tls_of(certificates), "listeners": listeners}
    with ThreadedCluster(brokers=1, release=release, config=config, topics=["t:1:1"]) as ours:
        tools = Tools(release, ours.bootstrap_servers_of(listener))
        tools.run("ConsoleProducer", "--topic", "t", "--producer.config", str(file), stdin="one\ntwo\n")
        wanted = (
            "--topic",
            "t",
            "--partition",
            "0",
            "--offset",
            "earliest",
            "--max-messages",
            "2",
            "--timeout-ms",
            "20000",
        )
        consumer = "ConsoleConsumer" if release.startswith("3.") else "consumer.ConsoleConsumer"
        read = tools.run(consumer, "--consumer.config", str(file), *wanted)
    assert read.splitlines()[-2:] == ["one", "two"]  # 4.x first prints that an option has been renamed
