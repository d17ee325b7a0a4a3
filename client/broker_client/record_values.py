"""What a program gives to `send`, made what a record holds: bytes or null. Mirrors KafkaProducer.doSend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from broker_client.errors import SerializationError

if TYPE_CHECKING:
    from broker_client.config.class_values import Serializer
    from broker_client.records import Headers

__all__ = ["GivenHeaders", "checked_headers", "serialized"]

GivenHeaders: TypeAlias = Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None]


def serialized(what: str, value: object, serializer: Serializer | None, topic: str) -> bytes | None:
    """A key or a value; raises SerializationError, which names the option to change."""
    if serializer is not None:
        try:
            value = serializer(value)
        except Exception as error:
            raise SerializationError(f"{what}.serializer raised for a {what} of topic {topic!r}: {error}") from error
    if value is None or type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise SerializationError(
        f"a {what} of topic {topic!r} is {type(value).__name__}, not bytes or None: set {what}.serializer"
    )


def checked_headers(headers: GivenHeaders) -> Headers:
    """Pairs of a name and bytes or null; raises SerializationError for what is none."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    checked: list[tuple[str, bytes | None]] = []
    try:
        for name, value in pairs:
            if not isinstance(name, str):
                raise SerializationError(f"header name {name!r} is {type(name).__name__}, not str")
            checked.append((name, _header_value(name, value)))
    except (TypeError, ValueError) as error:
        if isinstance(error, SerializationError):
            raise
        raise SerializationError(f"headers {headers!r}: expected pairs of a name and bytes or None") from error
    return checked


def _header_value(name: str, value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise SerializationError(f"header {name!r} has a value of {type(value).__name__}, not bytes, str or None")
