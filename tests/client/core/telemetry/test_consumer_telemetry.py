"""A consumer that pushes its metrics to a simulated cluster, on virtual time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from broker_client.errors import IllegalState
from broker_client.metrics import MetricName
from broker_client.records import TopicPartition
from protocol_specs.records.compression import CompressionCodec, decompress
from tests.client.core.telemetry.read_metrics_data import read_metrics_data
from tests.client.core.telemetry.telemetry_room import INTERVAL_MS, Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

CLIENT = (("client-id", "consumer-1"),)
ORDERS = TopicPartition("orders", 0)
CONSUMED = "org.apache.kafka.consumer.fetch.manager.records.consumed.total"


@pytest.fixture
def room(world: World) -> Iterator[Room]:
    made = Room(world, client_telemetry_receiver="true")
    yield made
    made.close()


def test_consumed_records_are_pushed_with_the_group_and_at_the_end(room: Room) -> None:
    room.subscribe("org.apache.kafka.consumer.fetch.manager.records.consumed")
    producer = room.producer(enable_metrics_push=False)
    for _ in range(3):
        producer.send("orders", b"x", partition=0)
    consumer = room.consumer(group_id="billing", client_rack="east", auto_offset_reset="earliest", client_id="reader")
    consumer.assign([ORDERS])
    assert len(room.world.run_until(consumer.poll(5_000))) == 3
    assert room.world.run_until(consumer.client_instance_id(5_000)) is not None
    room.world.run_for(ms=2 * INTERVAL_MS)
    room.world.run_until(consumer.close(5_000))
    room.world.run_for(ms=100)
    pushes = [(event, points) for event, points in room.pushed() if CONSUMED in points]
    assert sum(points[CONSUMED].value for _, points in pushes) == 3
    assert pushes[-1][0].terminating
    event = pushes[-1][0]
    codec = CompressionCodec(event.compression_type)
    _, resource = read_metrics_data(bytes(decompress(codec, event.metrics, limit_bytes=1_000_000)))
    assert resource == [("group_id", "billing"), ("client_rack", "east")]


def test_a_metric_of_the_application_is_pushed_until_it_is_unregistered(room: Room) -> None:
    room.subscribe("*")
    consumer = room.consumer()
    queued = MetricName(group="shop-metrics", name="orders-queued", tags=(("shop", "a"),))

    def broken() -> float:
        raise RuntimeError

    consumer.register_metric(queued, lambda: 7)
    consumer.register_metric(MetricName(group="shop-metrics", name="broken"), broken)
    consumer.register_metric(MetricName(group="consumer-metrics", name="connection-count", tags=CLIENT), lambda: -5)
    room.world.run_for(ms=int(1.7 * INTERVAL_MS))
    points = room.pushed()[-1][1]
    assert points["org.apache.kafka.shop.orders.queued"].value == 7
    assert points["org.apache.kafka.shop.orders.queued"].attributes == [("shop", "a")]
    assert math.isnan(points["org.apache.kafka.shop.broken"].value)
    assert points["org.apache.kafka.consumer.connection.count"].value > 0
    consumer.unregister_metric(queued)
    room.world.run_for(ms=INTERVAL_MS)
    assert "org.apache.kafka.shop.orders.queued" not in room.pushed()[-1][1]


def test_without_pushes_there_is_no_client_instance_id(room: Room) -> None:
    consumer = room.consumer(enable_metrics_push=False)
    with pytest.raises(IllegalState, match=r"set enable\.metrics\.push=true"):
        room.world.run_until(consumer.client_instance_id(100))
    room.world.run_for(ms=1_000)
    assert room.requested() == []
