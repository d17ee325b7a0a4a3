"""Our messages through kio's codec: converted to its entities, encoded and decoded by them, converted back.

kio has what brokers 4.0 and later have, headers and some schemas of records among it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import re
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from kio.index import UnknownEntity, load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from protocol_specs.fields import Array, Uuid
from protocol_specs.message import Kind, Struct
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.fields import FieldType
    from protocol_specs.message import Field, Message

_MILLISECOND = dt.timedelta(milliseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ENTITY_TYPES = {
    Kind.REQUEST: EntityType.request,
    Kind.RESPONSE: EntityType.response,
    Kind.HEADER: EntityType.header,
    Kind.DATA: EntityType.data,
}


@cache
def peer_class(cls: type[Message], version: int) -> Any:
    """kio's class of a message version, None when it has none."""
    if cls.KIND not in _ENTITY_TYPES:
        return None
    is_api = cls.KIND in {Kind.REQUEST, Kind.RESPONSE}
    name = api_key_map.get(cls.API_KEY, "") if is_api else _snake_case(cls.__name__)
    try:
        return load_entity_schema(name, version, _ENTITY_TYPES[cls.KIND])
    except UnknownEntity:
        return None


def to_peer(message: Message, version: int) -> Any:
    """The message as an entity of kio."""
    return _struct_to_peer(message, peer_class(type(message), version), version)


def from_peer(cls: type[Message], version: int, theirs: Any) -> Message:
    """kio's entity as our message."""
    made: Message = _struct_from_peer(cls, theirs, version)
    return made


def encode(message: Message, version: int) -> bytes:
    """The bytes that kio makes of a message."""
    buffer = io.BytesIO()
    entity_writer(peer_class(type(message), version))(buffer, to_peer(message, version))
    return buffer.getvalue()


def decode(cls: type[Message], version: int, data: bytes) -> Message:
    """The message that kio finds in bytes."""
    theirs, size = entity_reader(peer_class(cls, version))(data, 0)
    assert size == len(data), f"kio left {len(data) - size} bytes"
    return from_peer(cls, version, theirs)


def _snake_case(name: str) -> str:
    """`KRaftVersionRecord` -> `k_raft_version_record`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def typed_fields(cls: type[Struct], peer: Any, version: int, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The path of each field of a version, and the type that kio gives it where that is narrower than Kafka's."""
    for f, theirs in _pairs(cls, peer, version):
        inner = f.type.element if isinstance(f.type, Array) else f.type
        if isinstance(inner, type) and issubclass(inner, Struct):
            yield from typed_fields(inner, _entity(theirs.type), version, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, _kafka_type(theirs)


def _kafka_type(theirs: Any) -> str:
    """kio's type of a field; a point in time that may be none has a question mark."""
    kafka_type: str = theirs.metadata["kafka_type"]
    return f"{kafka_type}?" if kafka_type == "datetime_i64" and type(None) in get_args(theirs.type) else kafka_type


@cache
def _pairs(cls: type[Struct], peer: Any, version: int) -> list[tuple[Field, Any]]:
    """Our fields beside kio's: it declares the same ones in the same order, without the unit in a name, and
    with a stroke after a name that Python has."""
    carried = [f for f in cls.FIELDS if version in f.versions]
    pairs = list(zip(carried, dataclasses.fields(peer), strict=True))
    for ours, theirs in pairs:
        assert theirs.name in {ours.name, f"{ours.name}_", ours.name.removesuffix("_ms")}, (ours, theirs.name)
    return pairs


@cache
def _entity(annotation: Any) -> Any:
    """The dataclass inside of `tuple[X, ...] | None` and the like."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    return next((found for part in get_args(annotation) if (found := _entity(part)) is not None), None)


def _struct_to_peer(ours: Struct, peer: Any, version: int) -> Any:
    pairs = _pairs(type(ours), peer, version)
    return peer(**{theirs.name: _value_to_peer(f.type, getattr(ours, f.name), theirs, version) for f, theirs in pairs})


def _value_to_peer(field_type: FieldType | type[Struct], value: Any, theirs: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return tuple(_value_to_peer(field_type.element, item, theirs, version) for item in value)
    if isinstance(value, Struct):
        return _struct_to_peer(value, _entity(theirs.type), version)
    match theirs.metadata["kafka_type"]:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return value * _MILLISECOND
        case "datetime_i64":
            return None if value == -1 else _EPOCH + value * _MILLISECOND
        case "uuid":
            return None if value == ZERO_UUID else uuid.UUID(bytes=value)
        case _:
            return value


def _struct_from_peer(cls: type[Struct], theirs: Any, version: int) -> Any:
    pairs = _pairs(cls, type(theirs), version)
    return cls(**{f.name: _value_from_peer(f.type, getattr(theirs, field.name), field, version) for f, field in pairs})


def _value_from_peer(field_type: FieldType | type[Struct], value: Any, theirs: Any, version: int) -> Any:
    if field_type is Uuid:
        return ZERO_UUID if value is None else value.bytes
    if value is None:
        # kio reads -1 milliseconds as no time at all.
        return -1 if theirs.metadata.get("kafka_type") == "datetime_i64" else None
    if isinstance(field_type, Array):
        return [_value_from_peer(field_type.element, item, theirs, version) for item in value]
    if isinstance(field_type, type):
        return _struct_from_peer(field_type, value, version)
    if isinstance(value, dt.timedelta):
        return value // _MILLISECOND
    if isinstance(value, dt.datetime):
        return (value - _EPOCH) // _MILLISECOND
    return value.value if isinstance(value, ErrorCode) else value
