"""Interceptors receive every record before it is serialized, may replace it, and are notified of its end (KIP-42).

Mirrors ProducerInterceptor, ProducerInterceptors and KafkaProducer.AppendCallbacks. An error that an interceptor raises
is logged and has no other effect: the next one receives the record of the one before. Only a producer with
interceptors creates an `InterceptedRecord` per `send`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

from twisted.logger import Logger

from broker_client.config.class_values import configured_instance, loaded_class
from broker_client.errors import ConfigError, ProducerError
from broker_client.records import NO_OFFSET, NO_TIMESTAMP, UNKNOWN_PARTITION, RecordMetadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.core.producer.future_record_metadata import DeliveryCallback

__all__ = ["InterceptedRecord", "InterceptorChain", "ProducerInterceptor", "ProducerInterceptors", "ProducerRecord"]

Interceptor = TypeVar("Interceptor")

_KEY = "interceptor.classes"
_log = Logger()


@dataclass(slots=True, kw_only=True, frozen=True)
class ProducerRecord:
    """A record as passed to `send`: key and value are not serialized, headers are not checked."""

    topic: str
    value: object = None
    key: object = None
    partition: int | None = None
    headers: object = ()
    timestamp_ms: int | None = None


class ProducerInterceptor(Protocol):
    """The methods of an element of `interceptor.classes`: an object, a class, or the dotted name of a class.

    `on_acknowledgement`, `close` and `configure`, which receives the settings, are optional.
    """

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send, which may be the same. Called in the thread of the caller."""
        ...

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        """Receive the place of the record or its error. Called on the network thread, before `on_delivery`."""
        ...

    def close(self) -> None:
        """Release resources. Called once, when the producer is closed."""
        ...


class InterceptorChain(Generic[Interceptor]):
    """The interceptors of a client in their order; their errors are logged."""

    __slots__ = ("_chain",)

    needed: ClassVar[str]
    """The method that an interceptor must have, with its argument."""

    def __init__(self, chain: Iterable[Interceptor]) -> None:
        self._chain = tuple(chain)

    @classmethod
    def of(cls, elements: Iterable[object], given: Mapping[str, object]) -> Self:
        """Load, create and configure the elements of interceptor.classes.

        Raises:
            ConfigError: an element cannot be imported or created, or lacks the method that is needed.
        """
        chain = []
        for element in elements:
            made = configured_instance(_KEY, loaded_class(_KEY, element), given)
            if not callable(getattr(made, cls.needed.partition("(")[0], None)):
                raise ConfigError(f"{_KEY}={element!r}: expected an object with {cls.needed}")
            chain.append(cast("Interceptor", made))
        return cls(chain)

    def __len__(self) -> int:
        return len(self._chain)

    def notify(self, method: str, *args: object) -> None:
        """Call an optional method of all interceptors."""
        for interceptor in self._chain:
            call = getattr(interceptor, method, None)
            if call is None:
                continue
            try:
                call(*args)
            except Exception:  # noqa: BLE001 - an interceptor's error must not stop records
                _log.failure("{method} of {interceptor} raised", method=method, interceptor=interceptor)

    def close(self) -> None:
        """Close all interceptors."""
        self.notify("close")


class ProducerInterceptors(InterceptorChain[ProducerInterceptor]):
    """The interceptors of a producer in their order."""

    __slots__ = ()

    needed = "on_send(record)"

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record after all interceptors; their errors are logged."""
        for interceptor in self._chain:
            try:
                made = interceptor.on_send(record)
                if not isinstance(made, ProducerRecord):
                    raise TypeError(f"on_send returned {made!r}, not a ProducerRecord")  # noqa: TRY301
                record = made
            except Exception:  # noqa: BLE001 - an interceptor's error must not stop records
                _log.failure(
                    "on_send of {interceptor} raised for topic {topic}", interceptor=interceptor, topic=record.topic
                )
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        """Notify all interceptors of the end of a record."""
        self.notify("on_acknowledgement", metadata, error)


class InterceptedRecord:
    """One record on its way past the interceptors and back; `arguments` are those of `send`."""

    __slots__ = ("_interceptors", "_is_acknowledged", "_on_delivery", "_record")

    def __init__(
        self,
        interceptors: ProducerInterceptors,
        topic: str,
        value: object,
        key: object,
        partition: int | None,
        headers: object,
        timestamp_ms: int | None,
        on_delivery: DeliveryCallback | None,
    ) -> None:
        given = ProducerRecord(
            topic=topic, value=value, key=key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
        )
        self._interceptors = interceptors
        self._on_delivery = on_delivery
        self._record = interceptors.on_send(given)
        self._is_acknowledged = False

    def arguments(self) -> tuple[str, Any, Any, int | None, Any, int | None, DeliveryCallback]:
        """Return the arguments for `send`; their callback passes the interceptors on the way back."""
        record = self._record
        return (
            record.topic,
            record.value,
            record.key,
            record.partition,
            record.headers,
            record.timestamp_ms,
            self._delivered,
        )

    def refused(self, error: ProducerError) -> None:
        """`send` raises `error`."""
        if not self._is_acknowledged:
            self._interceptors.on_acknowledgement(_nowhere(self._record), error)

    def _delivered(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        self._is_acknowledged = True
        if metadata.partition == UNKNOWN_PARTITION and self._record.partition is not None:
            metadata = replace(metadata, partition=self._record.partition)
        self._interceptors.on_acknowledgement(metadata, error)
        if self._on_delivery is not None:
            self._on_delivery(metadata, error)


def _nowhere(record: ProducerRecord) -> RecordMetadata:
    return RecordMetadata(
        topic=record.topic,
        partition=UNKNOWN_PARTITION if record.partition is None else record.partition,
        offset=NO_OFFSET,
        timestamp_ms=NO_TIMESTAMP,
        serialized_key_size=-1,
        serialized_value_size=-1,
    )
