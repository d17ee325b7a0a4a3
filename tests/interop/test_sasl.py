"""Clients of other makers on our SASL listeners: Java's console tools, kafka-python, aiokafka."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from kafka import KafkaConsumer, KafkaProducer

from broker_sim.control.events import AuthenticationSucceeded
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = "org.apache.kafka.common.security"
SCRAM = f"{PACKAGE}.scram.ScramLoginModule required"
BEARER = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MODULES = {
    "PLAIN": f'{PACKAGE}.plain.PlainLoginModule required user_alice="secret";',
    "SCRAM-SHA-256": f"{SCRAM};",
    "SCRAM-SHA-512": f"{SCRAM};",
    "OAUTHBEARER": f"{BEARER};",
}
LOGINS = {
    "PLAIN": f'{PACKAGE}.plain.PlainLoginModule required username="alice" password="secret";',
    "SCRAM-SHA-256": f'{SCRAM} username="carol" password="pw";',
    "SCRAM-SHA-512": f'{SCRAM} username="carol" password="pw";',
    "OAUTHBEARER": f'{BEARER} unsecuredLoginStringClaim_sub="dave";',
}
USERS = {"PLAIN": ("alice", "secret"), "SCRAM-SHA-256": ("carol", "pw"), "SCRAM-SHA-512": ("carol", "pw")}
SESSION_MS = 1500
PATIENCE_S = 60.0


def config() -> dict[str, str]:
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0,CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "connections.max.reauth.ms": str(SESSION_MS),
        "group.initial.rebalance.delay.ms": "0",
        **{f"listener.name.client.{name.lower()}.sasl.jaas.config": module for name, module in MODULES.items()},
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, config=config()) as made:
        admin = AdminClient({"bootstrap.servers": made.bootstrap_servers})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            upsertion = UserScramCredentialUpsertion("carol", ScramCredentialInfo(mechanism, 4096), b"pw")
            admin.alter_user_scram_credentials([upsertion])["carol"].result(PATIENCE_S)
        yield made


def login(cluster: ThreadedCluster, mechanism: str) -> dict[str, Any]:
    user, password = USERS[mechanism]
    return {
        "bootstrap_servers": cluster.bootstrap_servers_of("CLIENT"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


@pytest.mark.parametrize("mechanism", list(USERS))
def test_kafka_python_writes_and_reads(cluster: ThreadedCluster, mechanism: str) -> None:
    topic = f"kafka-python-{mechanism}"
    cluster.create_topic(f"{topic}:1:1")
    options = login(cluster, mechanism)
    producer = KafkaProducer(**options)
    producer.send(topic, b"by kafka-python").get(PATIENCE_S)
    producer.close()
    consumer = KafkaConsumer(
        topic, **options, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=PATIENCE_S * 1000
    )
    assert next(consumer).value == b"by kafka-python"
    consumer.close()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sasl.password": "x"}, "Authentication failed: Invalid username or password"),
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "due to invalid credentials with SASL mechanism SCRAM-SHA-256"),
    ],
)
def test_librdkafka_reports_a_failed_authentication(
    cluster: ThreadedCluster, changes: dict[str, str], text: str
) -> None:
    reported: list[KafkaError] = []
    options = {
        "bootstrap.servers": cluster.bootstrap_servers_of("CLIENT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
        "error_cb": reported.append,
    }
    admin = AdminClient({**options, **changes})
    deadline = time.monotonic() + PATIENCE_S
    while not reported:
        assert time.monotonic() < deadline
        admin.poll(0.1)
    assert reported[0].code() == KafkaError._AUTHENTICATION
    assert text in reported[0].str()


@pytest.mark.parametrize("mechanism", list(USERS))
def test_aiokafka_writes_and_reads(cluster: ThreadedCluster, mechanism: str) -> None:
    topic = f"aiokafka-{mechanism}"
    cluster.create_topic(f"{topic}:1:1")
    options = login(cluster, mechanism)

    async def run() -> bytes:
        async with AIOKafkaProducer(**options) as producer:
            await producer.send_and_wait(topic, b"by aiokafka")
        async with AIOKafkaConsumer(topic, **options, auto_offset_reset="earliest") as consumer:
            message = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            return bytes(message.value)

    assert asyncio.run(run()) == b"by aiokafka"


@pytest.mark.parametrize(("writer", "reader"), [("PLAIN", "OAUTHBEARER"), ("SCRAM-SHA-512", "SCRAM-SHA-256")])
def test_javas_console_writes_and_reads_and_renews_its_sessions(
    cluster: ThreadedCluster, tmp_path: Path, writer: str, reader: str
) -> None:
    topic = f"java-{writer}"
    cluster.create_topic(f"{topic}:1:1")
    files = {}
    for mechanism in (writer, reader):
        files[mechanism] = tmp_path / mechanism
        files[mechanism].write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={LOGINS[mechanism]}\n"
        )
    tools = Tools(RELEASES[-1], cluster.bootstrap_servers_of("CLIENT"))
    tools.run("ConsoleProducer", "--topic", topic, "--producer.config", str(files[writer]), stdin="one\ntwo\n")
    arguments = ("--topic", topic, "--from-beginning", "--timeout-ms", str(SESSION_MS * 6))
    read = tools.run("consumer.ConsoleConsumer", "--consumer.config", str(files[reader]), *arguments)
    assert read.splitlines()[-2:] == ["one", "two"]
    made = [event for event in cluster.events() if isinstance(event, AuthenticationSucceeded)]
    again = [event.connection_id for event in made if event.mechanism == reader and event.principal != "User:alice"]
    assert len(again) > len(set(again)), "a connection of the consumer has renewed its session"
