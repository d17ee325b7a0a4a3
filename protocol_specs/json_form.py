"""Messages as JSON values and back. Mirrors Kafka's converters (``ProduceRequestDataJsonConverter`` ...).

Names are camelCase with a small first letter; bytes and records are base64; uuids are base64url text; tagged fields at
their default are left out; fields that the version does not carry are left out. Unknown tags stand beside, not inside.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from protocol_specs.errors import MessageEncodeError
from protocol_specs.fields import Array, FieldType, Uuid
from protocol_specs.uuids import from_text, to_text

if TYPE_CHECKING:
    from protocol_specs.message import Message, Struct

M = TypeVar("M", bound="Message")


@lru_cache(maxsize=4096)
def camel_case(name: str) -> str:
    """`log_start_offset` -> `logStartOffset`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_json(message: Struct, version: int) -> dict[str, Any]:
    """The JSON value of a message in a version."""
    made: dict[str, Any] = {}
    for f in message.FIELDS:
        value = getattr(message, f.name)
        if version not in f.versions or (version in f.tagged and value == f.default):
            continue
        made[camel_case(f.name)] = _value_to_json(f.type, value, version)
    return made


def _value_to_json(field_type: FieldType | type[Struct], value: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [_value_to_json(field_type.element, item, version) for item in value]
    if field_type is Uuid:
        return to_text(value)
    if isinstance(field_type, FieldType):
        if field_type.name in {"bytes", "records"}:
            data = b"".join(value) if isinstance(value, list) else bytes(value)
            return base64.b64encode(data).decode("ascii")
        return value
    return to_json(value, version)


def from_json(cls: type[M], version: int, value: dict[str, Any]) -> M:
    """The message behind a JSON value; a missing field has its default. Raises MessageEncodeError for unknown keys."""
    return _struct_from_json(cls, version, value, cls.__name__, "")


S = TypeVar("S", bound="Struct")


def _struct_from_json(cls: type[S], version: int, value: dict[str, Any], message: str, path: str) -> S:
    names = {camel_case(f.name): f for f in cls.FIELDS if version in f.versions}
    values: dict[str, Any] = {}
    for key, item in value.items():
        if key not in names:
            known = ", ".join(names)
            raise MessageEncodeError(message, version, f"{path}{key}", f"no such field: the fields are {known}")
        f = names[key]
        values[f.name] = _value_from_json(f.type, item, version, message, f"{path}{f.name}")
    return cls(**values)


def _value_from_json(
    field_type: FieldType | type[Struct],
    value: Any,
    version: int,
    message: str,
    path: str,
) -> Any:
    if value is None:
        return None
    if isinstance(field_type, Array):
        return [
            _value_from_json(field_type.element, item, version, message, f"{path}[{i}]") for i, item in enumerate(value)
        ]
    if field_type is Uuid:
        return from_text(value)
    if isinstance(field_type, FieldType):
        if field_type.name in {"bytes", "records"}:
            return base64.b64decode(value)
        return float(value) if field_type.name == "float64" else value
    return _struct_from_json(field_type, version, value, message, f"{path}.")
