"""Converts the arguments of `send` to the fields of a record: bytes or null. Mirrors KafkaProducer.doSend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_client.errors import SerializationError

if TYPE_CHECKING:
    from broker_client.config.serializers import Serializer
    from broker_client.records import Headers

__all__ = ["INT64_MAX", "GivenHeaders", "checked_headers", "checked_topic", "serialized", "whole_number"]

INT64_MAX: Final = 2**63 - 1
# The longest string on the wire; brokers refuse topics from 250 characters on.
TOPIC_BYTES_MAX: Final = 32_767
_PAIRS: Final = "expected pairs of a name and bytes, str or None, or a mapping"

GivenHeaders: TypeAlias = Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None]


def serialized(what: str, value: object, serializer: Serializer | None, topic: str) -> bytes | None:
    """Return a key or a value as bytes.

    Raises:
        SerializationError: the serializer raised an error or is missing; names the option to change.
    """
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


def checked_headers(headers: GivenHeaders | None) -> Headers:
    """Return the headers as pairs of a name and bytes or null.

    Raises:
        SerializationError: a header is not a pair of a name and a value.
    """
    if headers is None:
        return ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    if not isinstance(pairs, Iterable):
        raise SerializationError(f"headers={headers!r}: {_PAIRS}")
    return [_checked_header(pair) for pair in pairs]


def checked_topic(topic: object) -> None:
    """Check that a request can contain the topic; brokers decide whether they allow the name.

    Raises:
        SerializationError: the topic is not a text, or is too long for a request.
    """
    if not isinstance(topic, str):
        raise SerializationError(f"the topic {topic!r} is {type(topic).__name__}, not str")
    if len(_utf_8("the topic", topic)) > TOPIC_BYTES_MAX:
        raise SerializationError(f"the topic {topic[:20]!r}... is {len(topic)} characters long, 249 may be")


def whole_number(name: str, value: object) -> int:
    """Return a partition or a time in ms as an int; numpy's integers are accepted.

    Raises:
        SerializationError: the value is not an integer, or has more than 64 bits.
    """
    try:
        number = int(index(value))  # type: ignore[arg-type]  # a TypeError is expected
    except TypeError:
        raise SerializationError(f"{name}={value!r} is {type(value).__name__}, not int") from None
    if number > INT64_MAX:
        raise SerializationError(f"{name}={value!r} is larger than 64 bits hold")
    return number


def _checked_header(pair: object) -> tuple[str, bytes | None]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise SerializationError(f"header {pair!r}: {_PAIRS}")
    name, value = pair
    if not isinstance(name, str):
        raise SerializationError(f"header name {name!r} is {type(name).__name__}, not str")
    _utf_8("the header name", name)
    if value is None or isinstance(value, bytes):
        return name, value
    if isinstance(value, str):
        return name, _utf_8(f"the value of header {name!r},", value)
    if isinstance(value, (bytearray, memoryview)):
        return name, bytes(value)
    raise SerializationError(f"header {name!r} has a value of {type(value).__name__}, not bytes, str or None")


def _utf_8(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SerializationError(f"{what} {text[:50]!r} cannot be encoded in UTF-8: {error.reason}") from None
