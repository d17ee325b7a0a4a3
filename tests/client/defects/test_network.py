"""Defects of connections, requests and responses."""

from __future__ import annotations

import pytest
from twisted.internet.protocol import Factory, Protocol

from broker_sim.control.events import ConnectionOpened
from tests.client.defects.defect_room import Room, outcome

VALUE = b"1" * 400
OTHER = b"2" * 400


@pytest.mark.parametrize(("defects", "stored"), [((), [VALUE]), (("reuses-buffer-of-unwritten-batch",), [OTHER])])
def test_the_buffer_of_a_half_written_batch_is_reused(defects: tuple[str, ...], stored: list[bytes]) -> None:
    room = Room(brokers=2, topics=["orders:1:1", "bills:2:1"])
    room.world.network.window_bytes = 32
    producer = room.warm_producer(
        *defects,
        enable_idempotence=False,
        retry_backoff_ms=1_000,
        retry_backoff_max_ms=1_000,
        request_timeout_ms=3_000,
        delivery_timeout_ms=3_000,
    )
    for partition in (0, 1):
        room.warm(producer, "bills", partition)
    leader = room.cluster.leader_of("orders", 0)
    free = next(one for one in (0, 1) if room.cluster.leader_of("bills", one) != leader)
    room.rule("refuse", select={"api": "Produce", "topic": "orders"}, times=1, act={"error": "NOT_ENOUGH_REPLICAS"})
    expired = producer.send("orders", VALUE, partition=0)
    room.run(500)
    link = room.world.network.link("app", f"b{leader}")
    link.hold()
    room.run(2_600)
    assert outcome(expired) == "BatchExpired"
    producer.send("bills", OTHER, partition=free)
    room.run(20)
    link.release()
    room.run(10_000)
    assert room.values("bills", free) == [OTHER]
    assert room.values() == stored


@pytest.mark.parametrize(("defects", "sent"), [((), 0), (("forgets-the-version-check",), "MetadataTimeout")])
def test_a_connection_ends_before_the_versions_are_there(defects: tuple[str, ...], sent: int | str) -> None:
    room = Room()
    producer = room.producer(*defects)
    room.rule("cut", select={"api": "ApiVersions"}, phase="before_parse", times=1, act="disconnect")
    record = producer.send("orders", b"1", partition=0)
    room.run(100_000)
    assert outcome(record) == sent


@pytest.mark.parametrize(("defects", "sent"), [((), 0), (("eof-is-fatal",), "AuthenticationFailed")])
def test_a_broker_that_restarts_closes_the_first_connection(defects: tuple[str, ...], sent: int | str) -> None:
    room = Room()
    producer = room.producer(*defects)
    room.rule("cut", select={"api": "ApiVersions"}, phase="before_parse", times=1, act="disconnect")
    record = producer.send("orders", b"1", partition=0)
    room.run(10_000)
    assert outcome(record) == sent


@pytest.mark.parametrize(
    ("defects", "second", "stored"),
    [((), "BrokerError", [b"1"]), (("keeps-connection-after-timeout",), 1, [b"1"])],
)
def test_a_late_response_acknowledges_another_record(
    defects: tuple[str, ...], second: int | str, stored: list[bytes]
) -> None:
    room = Room()
    producer = room.warm_producer(
        *defects, enable_idempotence=False, retries=0, request_timeout_ms=2_000, delivery_timeout_ms=10_000
    )
    select = {"api": "Produce", "topic": "orders"}
    room.rule("late", select=select, phase="after_append", times=1, act={"delay_ms": 2_500})
    first = producer.send("orders", b"1", partition=0)
    room.run(2_100)
    assert outcome(first) is not None
    room.rule("refuse", select=select, times=1, act={"error": "NOT_ENOUGH_REPLICAS"})
    sent = producer.send("orders", b"2", partition=0)
    room.run(5_000)
    assert (outcome(sent), room.values()) == (second, stored)


@pytest.mark.parametrize(("defects", "sent"), [((), 1), (("no-request-timeout",), None)])
def test_a_response_that_never_ends_is_waited_for(defects: tuple[str, ...], sent: int | None) -> None:
    room = Room()
    producer = room.warm_producer(*defects, request_timeout_ms=2_000, delivery_timeout_ms=60_000)
    room.rule("silent", select={"api": "Produce"}, phase="before_response", times=1, act="drop_response")
    record = producer.send("orders", b"1", partition=0)
    room.run(20_000)
    assert outcome(record) == sent


class Garbage(Protocol):
    """Sends a size of 2 GB."""

    def connectionMade(self) -> None:  # noqa: N802
        self.transport.write(b"\x7f\0\0\0" + b"0123456789")  # type: ignore[union-attr]
        self.factory.connections += 1  # type: ignore[union-attr]


@pytest.mark.parametrize(("defects", "waits"), [((), False), (("no-receive-limit",), True)])
def test_an_absurd_size_is_believed(defects: tuple[str, ...], *, waits: bool) -> None:
    room = Room()
    factory: Factory[Protocol] = Factory.forProtocol(Garbage)
    factory.connections = 0  # type: ignore[attr-defined]
    room.world.network.host("odd").listenTCP(9092, factory)
    producer = room.producer(*defects, bootstrap_servers="odd:9092")
    room.run(5_000)
    assert (factory.connections == 1) is waits  # type: ignore[attr-defined]
    room.world.run_until(producer.close(0))


@pytest.mark.parametrize(("defects", "is_storm"), [((), False), (("no-reconnect-backoff",), True)])
def test_connections_that_are_closed_are_made_again(defects: tuple[str, ...], *, is_storm: bool) -> None:
    room = Room()
    room.rule("closing", select={"api": "ApiVersions"}, phase="before_parse", act="disconnect")
    room.producer(*defects)
    room.run(1_000)
    opened = len(room.events(ConnectionOpened))
    assert (opened > 100) is is_storm
    assert is_storm or opened < 20


@pytest.mark.parametrize(("defects", "connections"), [((), 2), (("no-reauthentication",), 4)])
def test_the_end_of_a_session_ends_the_connection(defects: tuple[str, ...], connections: int) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    config = {
        "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} user_app=secret;",
        "connections.max.reauth.ms": "2000",
    }
    room = Room(config=config)
    producer = room.producer(
        *defects,
        bootstrap_servers=room.cluster.bootstrap_servers_of("SASL_PLAINTEXT"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_jaas_config=f"{module} username=app password=secret;",
    )
    records = []
    for _ in range(2):
        records.append(producer.send("orders", b"1", partition=0))
        room.run(3_000)
    assert [outcome(record) for record in records] == [0, 1]
    assert len(room.events(ConnectionOpened)) == connections
