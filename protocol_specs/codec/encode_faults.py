"""Finds the field of a message that cannot be encoded in a version; runs after generated code has failed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.errors import FieldNotInVersion, MessageEncodeError
from protocol_specs.fields import Array, Bool, FieldType, FixedType, SizedType, String, Uuid

if TYPE_CHECKING:
    from protocol_specs.message import Field, Message, Struct

_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "bytes": (bytes, bytearray, memoryview),
    "records": (bytes, bytearray, memoryview, list),
}


class _Fault(NamedTuple):
    path: str
    reason: str
    error: type[MessageEncodeError] = MessageEncodeError


def locate_encode_fault(message: Message, version: int, fault: Exception) -> MessageEncodeError:
    """The error for a message that generated code refused with `fault`: with the path of the field."""
    found = _struct_fault(type(message), message, version, "") or _Fault("", f"{type(fault).__name__}: {fault}")
    return found.error(type(message).__name__, version, found.path, found.reason)


def _struct_fault(cls: type[Struct], value: object, version: int, path: str) -> _Fault | None:
    if not isinstance(value, cls):
        return _Fault(path, f"{shown(value)} is no {cls.__name__}")
    tags_path = f"{path}.unknown_tags" if path else "unknown_tags"
    if (wrong := _tags_fault(value.unknown_tags)) is not None:
        return _Fault(tags_path, wrong)
    tags = [tag for tag, _ in value.unknown_tags]
    for f in cls.FIELDS:
        field_path = f"{path}.{f.name}" if path else f.name
        field_value = getattr(value, f.name, None)
        if version not in f.versions:
            if not f.ignorable and field_value != f.default:
                reason = f"version {version} has no such field, and the value is {shown(field_value)}"
                return _Fault(field_path, reason, FieldNotInVersion)
            continue
        if version in f.tagged and f.tag in tags:
            return _Fault(field_path, f"unknown_tags holds tag {f.tag}, which is this field's")
        found = _field_fault(f, f.type, field_value, version, field_path)
        if found:
            return found
    if len(set(tags)) != len(tags):
        return _Fault(tags_path, "a tag stands there twice")
    return None


def _tags_fault(tags: object) -> str | None:
    """Return what is wrong with the types of the unknown tagged fields of a struct."""
    if not isinstance(tags, list | tuple):
        return f"{shown(tags)} is no list of a tag and its data each"
    for each in tags:
        if not isinstance(each, tuple | list) or len(each) != 2:
            return f"{shown(each)} is no tag with its data"
        tag, data = each
        if not isinstance(tag, int) or tag < 0:
            return f"{shown(tag)} is no tag: expected an int from 0 on"
        if not isinstance(data, _KINDS["bytes"]):
            return f"tag {tag}: {shown(data)} is no bytes"
    return None


def _field_fault(
    f: Field | None, field_type: FieldType | type[Struct], value: object, version: int, path: str
) -> _Fault | None:
    if value is None:
        if f is not None and version in f.nullable:
            return None
        return _Fault(path, f"None, but this field is never null in version {version}")
    if isinstance(field_type, FixedType):
        return _fixed_fault(field_type, value, path)
    if isinstance(field_type, SizedType):
        return _sized_fault(field_type, value, path)
    if isinstance(field_type, Array):
        if not isinstance(value, list | tuple):
            return _Fault(path, f"{shown(value)} is no list")
        for index, item in enumerate(value):
            found = _field_fault(None, field_type.element, item, version, f"{path}[{index}]")
            if found:
                return found
        return None
    assert isinstance(field_type, type)
    return _struct_fault(field_type, value, version, path)


def _fixed_fault(field_type: FixedType, value: object, path: str) -> _Fault | None:
    if field_type is Uuid and isinstance(value, bytes) and len(value) != field_type.size:
        return _Fault(path, f"{len(value)} bytes: a uuid has {field_type.size}")
    if field_type is Bool and value not in (True, False):
        return _Fault(path, f"{shown(value)} is no bool")
    try:
        struct.pack(">" + field_type.format, value)
    except (struct.error, OverflowError, TypeError) as error:
        return _Fault(path, f"{shown(value)} is no {field_type.name}: {error}")
    return None


def _sized_fault(field_type: SizedType, value: object, path: str) -> _Fault | None:
    if not isinstance(value, _KINDS[field_type.name]):
        return _Fault(path, f"{shown(value)} is no {field_type.name}")
    if isinstance(value, list):
        for index, piece in enumerate(value):
            if not isinstance(piece, _KINDS["bytes"]):
                return _Fault(f"{path}[{index}]", f"{shown(piece)} is no bytes")
    if field_type is String:
        assert isinstance(value, str)
        try:
            length = len(value.encode())
        except UnicodeEncodeError as error:
            return _Fault(path, f"{shown(value)} is not UTF-8: {error.reason}")
        if length > 32767:
            return _Fault(path, f"{length} bytes: a string has at most 32767")
    return None


def shown(value: object) -> str:
    """Return a value as Python text, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
