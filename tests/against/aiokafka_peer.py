"""Our messages through aiokafka's codec: as nested tuples, in the order of its schemas, which were written by hand.

kafka-python and kio take their classes from Kafka's own definitions; these were read off the protocol by people. They
are of the versions before tagged fields, and of a few of the first with them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import aiokafka.protocol
from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import Schema, TaggedFields

from protocol_specs.fields import Array, FieldType
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Field, Message, Struct

_BASES = {Kind.REQUEST: RequestStruct, Kind.RESPONSE: Response}


@cache
def _classes(kind: Kind) -> dict[tuple[int, int], Any]:
    """aiokafka's classes of requests or responses, by API key and version."""
    for module in pkgutil.iter_modules(aiokafka.protocol.__path__):
        importlib.import_module(f"aiokafka.protocol.{module.name}")
    return {(peer.API_KEY, peer.API_VERSION): peer for peer in _BASES[kind].__subclasses__()}


@cache
def peer_class(cls: type[Message], version: int) -> Any:
    """aiokafka's class of a message version, None when it has none."""
    return _classes(cls.KIND).get((cls.API_KEY, version)) if cls.KIND in _BASES else None


def encode(message: Message, version: int) -> bytes:
    """The bytes that aiokafka makes of a message."""
    schema = peer_class(type(message), version).SCHEMA
    made: bytes = schema.encode(_to_tuple(message, schema, version))
    return made


def decode(cls: type[Message], version: int, data: bytes) -> Message:
    """The message that aiokafka finds in bytes."""
    schema = peer_class(cls, version).SCHEMA
    stream = BytesIO(data)
    theirs = schema.decode(stream)
    left = stream.read()
    assert left == b"", f"aiokafka left {len(left)} bytes"
    made: Message = _from_tuple(cls, theirs, schema, version)
    return made


def _carried(cls: type[Struct], version: int) -> Iterator[Field]:
    return (f for f in cls.FIELDS if version in f.versions)


def _to_tuple(ours: Struct, schema: Schema, version: int) -> tuple[Any, ...]:
    fields = _carried(type(ours), version)
    made = _to_group(fields, ours, schema, version)
    assert next(fields, None) is None, (ours, schema.names)
    return made


def _to_group(fields: Iterator[Field], ours: Struct, schema: Schema, version: int) -> tuple[Any, ...]:
    values: list[Any] = []
    for part in schema.fields:
        if part is TaggedFields:
            values.append(dict(ours.unknown_tags))
        elif isinstance(part, Schema):  # some of our next fields, between brackets
            values.append(_to_group(fields, ours, part, version))
        else:
            f = next(fields)
            values.append(_to_value(f.type, getattr(ours, f.name), part, version))
    return tuple(values)


def _to_value(field_type: FieldType | type[Struct], value: Any, part: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_to_value(field_type.element, item, part.array_of, version) for item in value]
    if isinstance(field_type, FieldType):
        return value
    if isinstance(part, Schema):
        return _to_tuple(value, part, version)
    (only,) = _carried(field_type, version)  # a struct of one field is its field
    return _to_value(only.type, getattr(value, only.name), part, version)


def _from_tuple(cls: type[Struct], theirs: tuple[Any, ...], schema: Schema, version: int) -> Any:
    fields = _carried(cls, version)
    values: dict[str, Any] = {}
    tags = _from_group(fields, theirs, schema, version, values)
    assert next(fields, None) is None, (cls, schema.names)
    made = cls(**values)
    made.unknown_tags = list(tags.items())
    return made


def _from_group(
    fields: Iterator[Field], theirs: tuple[Any, ...], schema: Schema, version: int, values: dict[str, Any]
) -> dict[int, bytes]:
    tags: dict[int, bytes] = {}
    for part, value in zip(schema.fields, theirs, strict=True):
        if part is TaggedFields:
            tags = value
        elif isinstance(part, Schema):
            _from_group(fields, value, part, version, values)
        else:
            f = next(fields)
            values[f.name] = _from_value(f.type, value, part, version)
    return tags


def _from_value(field_type: FieldType | type[Struct], value: Any, part: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_from_value(field_type.element, item, part.array_of, version) for item in value]
    if isinstance(field_type, FieldType):
        return value
    if isinstance(part, Schema):
        return _from_tuple(field_type, value, part, version)
    (only,) = _carried(field_type, version)
    return field_type(**{only.name: _from_value(only.type, value, part, version)})
