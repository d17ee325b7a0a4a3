"""Our messages through kafka-python's codec: converted to its classes, encoded and decoded by them, converted back."""

from __future__ import annotations

import io
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
from kafka.protocol.api_header import RequestHeader, ResponseHeader

from protocol_specs.fields import Array, FieldType, Uuid
from protocol_specs.message import Kind
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from protocol_specs.message import Field, Message, Struct

_MODULES = (
    kafka.protocol.producer,
    kafka.protocol.consumer,
    kafka.protocol.metadata,
    kafka.protocol.admin,
    kafka.protocol.sasl,
)
_HEADERS: dict[tuple[str, int], tuple[Any, bool]] = {
    ("RequestHeader", 1): (RequestHeader, False),
    ("RequestHeader", 2): (RequestHeader, True),
    ("ResponseHeader", 0): (ResponseHeader, False),
    ("ResponseHeader", 1): (ResponseHeader, True),
}
_NOT_REQUESTED = -(2**31)


@cache
def peer_class(cls: type[Message], version: int) -> Any:
    """kafka-python's class of a message version, None when it has none."""
    if cls.KIND is Kind.HEADER:
        return _HEADERS.get((cls.__name__, version), (None, False))[0]
    if cls.KIND not in {Kind.REQUEST, Kind.RESPONSE, Kind.DATA}:
        return None
    found = next((vars(module)[cls.__name__] for module in _MODULES if cls.__name__ in vars(module)), None)
    if found is None or version > found.max_version:
        return None
    return found if cls.KIND is Kind.DATA else found[version]


def to_peer(message: Message, version: int) -> Any:
    """The message as an object of kafka-python."""
    made = peer_class(type(message), version)
    return _struct_to_peer(message, made, version)


def from_peer(cls: type[Message], version: int, theirs: Any) -> Message:
    """kafka-python's object as our message."""
    return _struct_from_peer(cls, theirs, version)


def encode(message: Message, version: int) -> bytes:
    """The bytes that kafka-python makes of a message."""
    theirs = to_peer(message, version)
    match message.KIND:
        case Kind.HEADER:
            return bytes(theirs.encode(flexible=message.is_flexible(version)))
        case Kind.DATA:
            return bytes(theirs.encode(version, header=False))
        case _:
            return bytes(theirs.encode(version))


def decode(cls: type[Message], version: int, data: bytes) -> Message:
    """The message that kafka-python finds in bytes."""
    peer = peer_class(cls, version)
    match cls.KIND:
        case Kind.HEADER:
            theirs = peer.decode(io.BytesIO(data), flexible=cls.is_flexible(version))
        case Kind.DATA:
            theirs = peer.decode(data, version, header=False)
        case _:
            theirs = peer.decode(data, version)
    return from_peer(cls, version, theirs)


def _name(f: Field, peer_fields: Any) -> str:
    """kafka-python's name of a field: it calls all kinds of authorized operations the same in some responses."""
    if f.name in peer_fields:
        return f.name
    assert f.name.endswith("_authorized_operations"), (f, list(peer_fields))
    return "authorized_operations"


def _struct_to_peer(ours: Struct, peer: Any, version: int) -> Any:
    fields = peer.fields
    values = {}
    for f in ours.FIELDS:
        value = getattr(ours, f.name)
        # kafka-python writes a tagged struct also at its default.
        if version in f.versions and not (version in f.tagged and value == f.default):
            name = _name(f, fields)
            values[name] = _value_to_peer(f.type, value, fields[name], version)
    return peer(version=version, **values) if not hasattr(peer, "API_KEY") else peer(**values)


def _value_to_peer(field_type: FieldType | type[Struct], value: Any, peer_field: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_value_to_peer(field_type.element, item, peer_field, version) for item in value]
    if field_type is Uuid:
        return None if value == ZERO_UUID else uuid.UUID(bytes=value)
    if not isinstance(field_type, FieldType):
        return _struct_to_peer(value, peer_field.data_class, version)
    if _is_bit_field(peer_field):
        return None if value == _NOT_REQUESTED else {bit for bit in range(32) if value >> bit & 1}
    return value


def _is_bit_field(peer_field: Any) -> bool:
    return bool(peer_field.type_str == "bitfield")


def _struct_from_peer(cls: type[Struct], theirs: Any, version: int) -> Any:
    values = {}
    for f in cls.FIELDS:
        if version in f.versions and not (version in f.tagged and f.name not in (theirs.tags or ())):
            name = _name(f, theirs.fields)
            values[f.name] = _value_from_peer(f.type, getattr(theirs, name), theirs.fields[name], version)
    return cls(**values)


def _value_from_peer(field_type: FieldType | type[Struct], value: Any, peer_field: Any, version: int) -> Any:
    if field_type is Uuid:
        return ZERO_UUID if value is None else value.bytes
    if _is_bit_field(peer_field):
        bits = 2**31 if value is None else sum(1 << bit for bit in value)
        return bits - 2**32 if bits >= 2**31 else bits
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_value_from_peer(field_type.element, item, peer_field, version) for item in value]
    if not isinstance(field_type, FieldType):
        return _struct_from_peer(field_type, value, version)
    return value
