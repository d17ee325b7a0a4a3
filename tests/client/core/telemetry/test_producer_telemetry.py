"""A producer that pushes its metrics to a simulated cluster, on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_client.core.telemetry.telemetry_states import TelemetryState
from broker_client.errors import IllegalState
from protocol_specs.records.compression import CompressionCodec, decompress
from tests.client.core.telemetry.read_metrics_data import read_metrics_data
from tests.client.core.telemetry.telemetry_room import INTERVAL_MS, Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World


@pytest.fixture
def room(world: World) -> Iterator[Room]:
    made = Room(world, client_telemetry_receiver="true")
    yield made
    made.close()


def test_what_is_wanted_is_pushed_in_every_interval(room: Room) -> None:
    room.subscribe("org.apache.kafka.producer.record.send")
    producer = room.producer(client_id="shop")
    producer.send("orders", b"x", partition=0)
    room.world.run_for(ms=int(3.6 * INTERVAL_MS))
    producer.send("orders", b"x", partition=0)
    room.world.run_for(ms=INTERVAL_MS)
    first, *others = [points for _, points in room.pushed()]
    assert 2 <= len(others) <= 3
    total, rate = "org.apache.kafka.producer.record.send.total", "org.apache.kafka.producer.record.send.rate"
    assert set(first) == {total, rate}
    assert first[total].value == 1
    assert first[rate].sum is None
    assert sum(points[total].value for points in others) == 1  # differences
    (event, _), *_ = room.pushed()
    assert (event.client_id, event.compression_type) == ("shop", CompressionCodec.ZSTD)
    assert room.requested() == ["GetTelemetrySubscriptions", *["PushTelemetry"] * (1 + len(others))]


def test_the_last_push_is_on_close(room: Room) -> None:
    room.subscribe("*")
    producer = room.producer()
    room.world.run_until(producer.send("orders", b"x", partition=0).as_deferred())
    room.world.run_until(producer.close())
    ((event, points),) = room.pushed()
    assert event.terminating
    assert points["org.apache.kafka.producer.record.send.total"].value == 1


def test_the_last_push_waits_for_the_one_under_way(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.subscribe("*")
    producer = room.producer()
    client, telemetry = producer.client, producer.client.telemetry
    assert telemetry is not None
    room.world.run_until(lambda: telemetry.reporter.state is TelemetryState.PUSH_IN_PROGRESS)
    # On a busy machine the completed send is reported together with its response.
    can_send, served = client.can_send_request, list[object]()
    monkeypatch.setattr(client, "can_send_request", lambda *node_and_time: bool(served) and can_send(*node_and_time))
    monkeypatch.setattr(telemetry.reporter, "handle_push", served.append)
    room.world.run_until(producer.close())
    assert [event.terminating for event, _ in room.pushed()] == [False, True]


def test_a_close_without_patience_pushes_nothing(room: Room) -> None:
    room.subscribe("*")
    producer = room.producer()
    room.world.run_until(producer.send("orders", b"x", partition=0).as_deferred())
    room.world.run_until(producer.close(0))
    assert room.pushed() == []


def test_a_changed_subscription_is_requested_again(room: Room) -> None:
    room.subscribe("*")
    room.producer()
    room.world.run_for(ms=2 * INTERVAL_MS)
    room.subscribe("org.apache.kafka.producer.batch")
    room.world.run_for(ms=4 * INTERVAL_MS)
    _, last = room.pushed()[-1]
    assert all(name.startswith("org.apache.kafka.producer.batch") for name in last)
    # A third time after a throttle: to a broker, what comes in the same millisecond as a question is not after it.
    assert room.requested().count("GetTelemetrySubscriptions") == 3


def test_without_a_subscription_nothing_is_pushed(room: Room) -> None:
    producer = room.producer()
    assert room.world.run_until(producer.client_instance_id(5_000)) is not None
    room.world.run_until(producer.close())
    assert room.requested() == ["GetTelemetrySubscriptions"]


def test_the_instance_id_is_what_the_broker_gave(room: Room) -> None:
    room.subscribe("*")
    producer = room.producer()
    reported = room.world.run_until(producer.client_instance_id(5_000))
    room.world.run_until(producer.close())
    ((event, _),) = room.pushed()
    assert event.client_instance_id == reported


def test_a_transactional_producer_labels_its_metrics(room: Room) -> None:
    room.subscribe("*")
    producer = room.producer(transactional_id="payments")
    room.world.run_until(producer.client_instance_id(5_000))
    room.world.run_until(producer.close())
    ((event, _),) = room.pushed()
    payload = decompress(CompressionCodec(event.compression_type), event.metrics, limit_bytes=1_000_000)
    assert read_metrics_data(bytes(payload))[1] == [("transactional_id", "payments")]


def test_who_does_not_want_it_sends_nothing(room: Room) -> None:
    room.subscribe("*")
    producer = room.producer(enable_metrics_push=False)
    room.world.run_until(producer.send("orders", b"x", partition=0).as_deferred())
    with pytest.raises(IllegalState, match=r"enable\.metrics\.push=true"):
        room.world.run_until(producer.client_instance_id(1_000))
    room.world.run_until(producer.close())
    assert room.requested() == []


def test_a_cluster_without_a_receiver_is_sent_nothing(world: World) -> None:
    room = Room(world)
    room.subscribe("*")
    producer = room.producer()
    room.world.run_until(producer.send("orders", b"x", partition=0).as_deferred())
    assert room.world.run_until(producer.client_instance_id(1_000)) is None
    room.world.run_for(ms=3_600_000)
    room.world.run_until(producer.close())
    assert room.requested() == []
    room.close()
