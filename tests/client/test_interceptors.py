"""Interceptors: they replace records, are notified of their ends, and their errors have no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
from broker_client.errors import ConfigError, ProducerClosed, ProducerError, RecordTooLarge
from broker_client.interceptors import InterceptedRecord, ProducerInterceptors, ProducerRecord
from broker_client.producer import Producer

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.records import RecordMetadata


class Recorder:
    """Adds a suffix to text values, and keeps its notifications."""

    def __init__(self, suffix: str = "!") -> None:
        self.suffix = suffix
        self.seen: list[object] = []
        self.ends: list[tuple[str, int, str | None]] = []
        self.settings: dict[str, Any] = {}
        self.closed = 0

    def configure(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.seen.append(record.value)
        return replace(record, value=f"{record.value}{self.suffix}")

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        self.ends.append((metadata.topic, metadata.partition, None if error is None else type(error).__name__))

    def close(self) -> None:
        self.closed += 1


class Broken:
    """Raises in every method."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise RuntimeError(record.topic)

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        raise RuntimeError(metadata.topic, error)

    def close(self) -> None:
        raise RuntimeError("close")


class Forgetful(Recorder):
    """Returns no record."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.seen.append(record.value)
        return None  # type: ignore[return-value]


class Sent:
    """Replaces the producer: ends each send at once, with an error if it has one."""

    def __init__(self, error: ProducerError | None = None, raised: ProducerError | None = None) -> None:
        self.values: list[object] = []
        self.error = error
        self.raised = raised

    def __call__(self, *record: Any) -> FutureRecordMetadata:
        topic, value, _, _, _, _, on_delivery = record
        self.values.append(value)
        if self.raised is not None:
            raise self.raised
        future = FutureRecordMetadata.unassigned(topic, 1, None, None)
        if self.error is not None:
            return FutureRecordMetadata.failed(topic, self.error, on_delivery)
        future.batch_result.set(7, 1, None)
        future.deliver(on_delivery)
        return future


def chain(*interceptors: object) -> ProducerInterceptors:
    return ProducerInterceptors.of(interceptors, {"client.id": "c"})


def send(
    sent: Sent,
    interceptors: ProducerInterceptors,
    partition: int | None = None,
    on_delivery: Callable[..., object] | None = None,
) -> None:
    """Send a record to "orders" as producers do."""
    intercepted = InterceptedRecord(interceptors, "orders", "v", None, partition, (), None, on_delivery)
    try:
        sent(*intercepted.arguments())
    except ProducerError as error:
        intercepted.refused(error)
        raise


def test_each_interceptor_receives_the_record_of_the_one_before() -> None:
    first, second, sent = Recorder("1"), Recorder("2"), Sent()
    send(sent, chain(first, second))
    assert (first.seen, second.seen, sent.values) == (["v"], ["v1"], ["v12"])


def test_errors_of_an_interceptor_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    first, last, sent = Recorder("1"), Recorder("2"), Sent()
    interceptors = chain(first, Broken(), Forgetful(), last)
    send(sent, interceptors)
    interceptors.close()
    assert sent.values == ["v12"]
    assert last.ends == [("orders", -1, None)]
    assert (first.closed, last.closed) == (1, 1)


def test_interceptors_are_notified_before_the_callback() -> None:
    order: list[str] = []

    class Listener(Recorder):
        def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
            super().on_acknowledgement(metadata, error)
            order.append("interceptor")

    send(Sent(), chain(Listener()), on_delivery=lambda *_: order.append("callback"))
    assert order == ["interceptor", "callback"]


def test_a_record_that_cannot_be_sent_is_reported_with_its_partition() -> None:
    recorder = Recorder()
    send(Sent(error=RecordTooLarge(10, 5, "max.request.size")), chain(recorder), partition=3)
    assert recorder.ends == [("orders", 3, "RecordTooLarge")]


def test_an_error_of_send_is_reported_and_raised() -> None:
    recorder = Recorder()
    with pytest.raises(ProducerClosed):
        send(Sent(raised=ProducerClosed("closed")), chain(recorder))
    assert recorder.ends == [("orders", -1, "ProducerClosed")]


def test_interceptors_are_created_from_classes_and_dotted_names() -> None:
    interceptors = ProducerInterceptors.of([Recorder, f"{__name__}.Recorder"], {"client.id": "c"})
    assert len(interceptors) == 2
    recorder = Recorder()
    chain(recorder)
    assert recorder.settings == {"client.id": "c"}


@pytest.mark.parametrize("element", ["no.such.Interceptor", "java.lang.Object", object(), 5, lambda record: record])
def test_an_object_without_on_send_is_refused(element: object) -> None:
    with pytest.raises(ConfigError, match=r"interceptor\.classes"):
        ProducerInterceptors.of([element], {})


def test_a_producer_calls_and_closes_its_interceptors() -> None:
    recorder = Recorder()
    settings = {"bootstrap.servers": "127.0.0.1:1", "max.block.ms": 0, "value.serializer": "StringSerializer"}
    producer = Producer(settings, interceptor_classes=[recorder])
    future = producer.send("orders", "v")
    assert type(future.exception(1)).__name__ == "MetadataTimeout"
    producer.close(0)
    producer.close(0)
    assert recorder.ends == [("orders", -1, "MetadataTimeout")]
    assert recorder.closed == 1
