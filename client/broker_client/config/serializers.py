"""Serializers and deserializers: callables, or Java's own classes by name. Mirrors common.serialization."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from uuid import UUID

from broker_client.errors import ConfigError

__all__ = ["BUILT_IN", "Deserializer", "Serializer", "deserializer_of", "serializer_of"]

Serializer = Callable[[object], bytes | None]
Deserializer = Callable[[bytes], Any]


def serializer_of(name: str, value: object) -> Serializer | None:
    """Return the callable that serializes to bytes, None if keys or values are bytes already.

    Raises:
        ConfigError: the value is not callable.
    """
    return cast("Serializer | None", _callable_of(name, value, "a callable that returns bytes or None"))


def deserializer_of(name: str, value: object) -> Deserializer | None:
    """Return the callable that deserializes bytes, None if keys or values remain bytes.

    Raises:
        ConfigError: the value is not callable.
    """
    return cast("Deserializer | None", _callable_of(name, value, "a callable that takes bytes"))


def _callable_of(name: str, value: object, expected: str) -> object:
    if value is None:
        return None
    if isinstance(value, str):
        return BUILT_IN[name][value.rsplit(".", 1)[-1]]
    if callable(value):
        return value
    raise ConfigError(f"{name}={value!r}: expected {expected}")


def _packed(layout: str) -> Serializer:
    packer = struct.Struct(layout)
    return lambda value: None if value is None else packer.pack(value)


def _unpacked(layout: str) -> Deserializer:
    packer = struct.Struct(layout)
    return lambda data: packer.unpack(data)[0]


def _text(value: object) -> bytes | None:
    return None if value is None else cast("str", value).encode()


def _bytes(value: object) -> bytes | None:
    return None if value is None else bytes(cast("bytes", value))


def _uuid(value: object) -> bytes | None:
    return None if value is None else str(cast("UUID", value)).encode()


def _void(value: object) -> bytes | None:
    if value is None:
        return None
    raise ValueError(f"VoidSerializer takes None alone, not {value!r}")


def _text_of(data: bytes) -> str:
    # As Java's String, which replaces what is not UTF-8.
    return data.decode(errors="replace")


def _truth_of(data: bytes) -> bool:
    if data not in (b"\0", b"\1"):
        raise ValueError(f"BooleanDeserializer takes one byte, 0 or 1, not {data!r}")
    return data == b"\1"


def _uuid_of(data: bytes) -> UUID:
    return UUID(data.decode())


def _nothing_of(data: bytes) -> None:
    raise ValueError(f"VoidDeserializer takes None alone, not {data!r}")


_SERIALIZERS: Final[Mapping[str, Serializer]] = {
    "BooleanSerializer": _packed(">?"),
    "ByteArraySerializer": _bytes,
    "ByteBufferSerializer": _bytes,
    "BytesSerializer": _bytes,
    "DoubleSerializer": _packed(">d"),
    "FloatSerializer": _packed(">f"),
    "IntegerSerializer": _packed(">i"),
    "LongSerializer": _packed(">q"),
    "ShortSerializer": _packed(">h"),
    "StringSerializer": _text,
    "UUIDSerializer": _uuid,
    "VoidSerializer": _void,
}
_DESERIALIZERS: Final[Mapping[str, Deserializer]] = {
    "BooleanDeserializer": _truth_of,
    "ByteArrayDeserializer": bytes,
    "ByteBufferDeserializer": bytes,
    "BytesDeserializer": bytes,
    "DoubleDeserializer": _unpacked(">d"),
    "FloatDeserializer": _unpacked(">f"),
    "IntegerDeserializer": _unpacked(">i"),
    "LongDeserializer": _unpacked(">q"),
    "ShortDeserializer": _unpacked(">h"),
    "StringDeserializer": _text_of,
    "UUIDDeserializer": _uuid_of,
    "VoidDeserializer": _nothing_of,
}
BUILT_IN: Final[Mapping[str, Mapping[str, Serializer | Deserializer]]] = {
    "key.serializer": _SERIALIZERS,
    "value.serializer": _SERIALIZERS,
    "key.deserializer": _DESERIALIZERS,
    "value.deserializer": _DESERIALIZERS,
}
"""Java's classes by the configurations that may name them."""
