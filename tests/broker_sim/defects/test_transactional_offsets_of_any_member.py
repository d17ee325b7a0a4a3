"""A service pauses between the records of a transaction and its offsets, and another instance takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from tests.broker_sim.defects.stage import ORDERS, Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence


GROUP = {"group.id": "g", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
OUT = TopicPartition("out", 0)


def outputs(defects: Sequence[str], *, by_group_id: bool = False) -> list[str]:
    """Return the outputs that are read committed; `by_group_id` sends offsets without the member."""
    stage = Stage(defects, topics=["orders:1:1", "out:1:1"])
    stage.sent(stage.producer(), "a")
    consumers, producers = [], []
    for name in ("first", "second"):
        consumer, producer = stage.consumer(**GROUP), stage.transactional(name)
        stage.call(consumer.subscribe(["orders"]))
        assert stage.poll(consumer, for_ms=20_000) == ["a"]
        producer.transactional.begin_transaction()
        stage.until([stage.send(producer, f"a by the {name}", OUT)])
        consumers.append(consumer)
        producers.append(producer)
        if name == "first":
            stage.world.network.isolate(f"consumer-{stage.hosts - 1}")
    for consumer, producer in reversed(list(zip(consumers, producers, strict=True))):
        calls = producer.transactional
        try:
            group = "g" if by_group_id else consumer.group_metadata()
            stage.call(calls.send_offsets_to_transaction({ORDERS: 1}, group))
            stage.call(calls.commit_transaction())
        except ProducerError:
            stage.call(calls.abort_transaction())
    read = stage.read(OUT, **{"isolation.level": "read_committed"})
    stage.close()
    return read


def test_an_input_has_two_committed_outputs() -> None:
    broken, good = with_and_without(outputs, "transactional-offsets-of-any-member")
    assert broken == ["a by the first", "a by the second"]
    assert good == ["a by the second"]


def test_offsets_by_the_id_of_the_group_alone_have_the_same_effect() -> None:
    assert outputs((), by_group_id=True) == ["a by the first", "a by the second"]
