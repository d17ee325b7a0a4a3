"""Our messages through kafka-python's codec: converted to its classes, encoded and decoded by them, converted back."""

from __future__ import annotations

import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer

from protocol_specs.fields import Array, FieldType, Uuid
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from protocol_specs.message import Field, Message, Struct

_MODULES = (kafka.protocol.producer, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.admin)
_RENAMED = ("topic_authorized_operations", "cluster_authorized_operations")
_NOT_ASKED_FOR = -(2**31)


@cache
def peer_class(cls: type[Message], version: int) -> Any:
    """kafka-python's class of a message version, None when it has none."""
    found = next((vars(module)[cls.__name__] for module in _MODULES if cls.__name__ in vars(module)), None)
    return found[version] if found is not None and version <= found.max_version else None


def to_peer(message: Message, version: int) -> Any:
    """The message as an object of kafka-python."""
    made = peer_class(type(message), version)
    return _struct_to_peer(message, made, version)


def from_peer(cls: type[Message], version: int, theirs: Any) -> Message:
    """kafka-python's object as our message."""
    return _struct_from_peer(cls, theirs, version)


def encode(message: Message, version: int) -> bytes:
    """The bytes that kafka-python makes of a message."""
    return bytes(to_peer(message, version).encode(version))


def decode(cls: type[Message], version: int, data: bytes) -> Message:
    """The message that kafka-python finds in bytes."""
    return from_peer(cls, version, peer_class(cls, version).decode(data, version))


def _name(name: str) -> str:
    return "authorized_operations" if name in _RENAMED else name


def _struct_to_peer(ours: Struct, peer: Any, version: int) -> Any:
    fields = peer.fields
    values = {}
    for f in ours.FIELDS:
        value = getattr(ours, f.name)
        # kafka-python writes a tagged struct also at its default.
        if version in f.versions and not (version in f.tagged and value == f.default):
            name = _name(f.name)
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
    if peer_field.name == "authorized_operations":
        return None if value == _NOT_ASKED_FOR else {bit for bit in range(32) if value >> bit & 1}
    return value


def _struct_from_peer(cls: type[Struct], theirs: Any, version: int) -> Any:
    values = {}
    for f in cls.FIELDS:
        if version in f.versions and not (version in f.tagged and f.name not in (theirs.tags or ())):
            values[f.name] = _value_from_peer(f, f.type, getattr(theirs, _name(f.name)), version)
    return cls(**values)


def _value_from_peer(f: Field, field_type: FieldType | type[Struct], value: Any, version: int) -> Any:
    if field_type is Uuid:
        return ZERO_UUID if value is None else value.bytes
    if f.name in _RENAMED:
        bits = 2**31 if value is None else sum(1 << bit for bit in value)
        return bits - 2**32 if bits >= 2**31 else bits
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_value_from_peer(f, field_type.element, item, version) for item in value]
    if not isinstance(field_type, FieldType):
        return _struct_from_peer(field_type, value, version)
    return value
