"""Messages as JSON values and back. Mirrors Kafka's converters (``ProduceRequestDataJsonConverter`` ...).

Names are camelCase with a small first letter; bytes and records are base64; uuids are base64url text; tagged fields at
their default are left out; fields that the version does not carry are left out. Infinite and NaN float64 are text, as
Java's Jackson writes them: "NaN", "Infinity", "-Infinity". Unknown tags are not included.
"""

from __future__ import annotations

import base64
from binascii import Error as Base64Error
from functools import lru_cache
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final, TypeVar

from protocol_specs.errors import MessageEncodeError
from protocol_specs.fields import Array, Bool, FieldType, FixedType, Float64, String, Uuid
from protocol_specs.spelling import close_names
from protocol_specs.uuids import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Field, Message, Struct

M = TypeVar("M", bound="Message")
S = TypeVar("S", bound="Struct")

_NOT_NUMBERS: Final = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
_RANGES: Final = {
    "b": (-(2**7), 2**7 - 1),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
    "q": (-(2**63), 2**63 - 1),
}
_UUID_TEXT_LENGTHS: Final = (22, 24)


@lru_cache(maxsize=4096)
def camel_case(name: str) -> str:
    """`log_start_offset` -> `logStartOffset`; of a path, every part."""
    return ".".join(first + "".join(map(str.capitalize, rest)) for first, *rest in _words(name))


def to_json(message: Struct, version: int) -> dict[str, Any]:
    """The JSON value of a message in a version."""
    made: dict[str, Any] = {}
    for f in message.FIELDS:
        value = getattr(message, f.name)
        if version not in f.versions or (version in f.tagged and value == f.default):
            continue
        made[camel_case(f.name)] = _value_to_json(f.type, value, version)
    return made


def from_json(cls: type[M], version: int, value: dict[str, Any], *, complete: bool = False) -> M:
    """The message behind a JSON value. Raises MessageEncodeError with the JSON path of what is wrong.

    A missing field has its default. With `complete` only a tagged field may be missing, as for Kafka's converters.
    """
    return _Reader(cls.__name__, version, complete=complete).struct(cls, value, "")


def _words(path: str) -> list[list[str]]:
    return [part.split("_") for part in path.split(".")]


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
        if field_type is Float64 and not isfinite(value):
            return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value
    return to_json(value, version)


@lru_cache(maxsize=4096)
def _fields_by_json_name(cls: type[Struct], version: int) -> Mapping[str, Field]:
    return {camel_case(f.name): f for f in cls.FIELDS if version in f.versions}


class _Reader:
    """Reads the JSON values of one message. A value that does not fit its field raises an error with its JSON path."""

    def __init__(self, message: str, version: int, *, complete: bool) -> None:
        self.message = message
        self.version = version
        self.complete = complete

    def refuse(self, path: str, reason: str) -> MessageEncodeError:
        return MessageEncodeError(self.message, self.version, path, reason)

    def struct(self, cls: type[S], value: Any, path: str) -> S:
        if not isinstance(value, dict):
            raise self.refuse(path, f"{_shown(value)} is no JSON object")
        fields = _fields_by_json_name(cls, self.version)  # type: ignore[arg-type]  # a class is hashable
        prefix = f"{path}." if path else ""
        values: dict[str, Any] = {}
        for key, item in value.items():
            f = fields.get(key)
            if f is None:
                shown = key if key.isidentifier() else ascii(key)
                raise self.refuse(prefix + shown, _no_such_field(cls, self.version, key, list(fields)))
            values[f.name] = self.field(f, item, prefix + key)
        if self.complete and len(values) < len(fields):
            for key, f in fields.items():
                if f.name not in values and self.version not in f.tagged:
                    raise self.refuse(prefix + key, "missing: only a tagged field may be left out")
        return cls(**values)

    def field(self, f: Field, value: Any, path: str) -> Any:
        if value is not None:
            return self.value(f.type, value, path)
        if self.version not in f.nullable:
            raise self.refuse(path, f"null, but this field is never null in version {self.version}")
        return None

    def value(self, field_type: FieldType | type[Struct], value: Any, path: str) -> Any:
        if isinstance(field_type, Array):
            if not isinstance(value, list):
                raise self.refuse(path, f"{_shown(value)} is no JSON array")
            element = field_type.element
            return [self.value(element, item, f"{path}[{index}]") for index, item in enumerate(value)]
        if isinstance(field_type, FixedType):
            return self.fixed(field_type, value, path)
        if isinstance(field_type, FieldType):
            if not isinstance(value, str):
                raise self.refuse(path, f"{_shown(value)} is no text: {_TEXT_OF[field_type.name]}")
            return value if field_type is String else self.base64(value, path)
        return self.struct(field_type, value, path)

    def fixed(self, field_type: FixedType, value: Any, path: str) -> Any:
        if field_type is Uuid:
            return self.uuid(value, path)
        if field_type is Bool:
            if value is not True and value is not False:
                raise self.refuse(path, f"{_shown(value)} is no bool: true or false")
            return value
        if field_type is Float64:
            return self.float64(value, path)
        low, high = _RANGES[field_type.format]
        if type(value) is not int or not low <= value <= high:
            raise self.refuse(path, f"{_shown(value)} is no {field_type.name}: a whole number from {low} to {high}")
        return value

    def float64(self, value: Any, path: str) -> float:
        if isinstance(value, str) and value in _NOT_NUMBERS:
            return _NOT_NUMBERS[value]
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.refuse(path, f'{_shown(value)} is no float64: a number, "NaN", "Infinity" or "-Infinity"')
        try:
            return float(value)
        except OverflowError:
            raise self.refuse(path, f"{_shown(value)} is beyond every float64") from None

    def uuid(self, value: Any, path: str) -> bytes:
        if isinstance(value, str) and len(value) in _UUID_TEXT_LENGTHS and _is_base64url(value.rstrip("=")):
            try:
                return from_text(value)
            except ValueError:
                pass
        raise self.refuse(path, f"{_shown(value)} is no uuid: 22 characters of base64url")

    def base64(self, value: str, path: str) -> bytes:
        try:
            return base64.b64decode(value, validate=True)
        except (Base64Error, ValueError) as error:
            raise self.refuse(path, f"{_shown(value)} is not base64: {error}") from None


_TEXT_OF: Final = {"string": "a string", "bytes": "base64", "records": "base64"}


def _is_base64url(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def _no_such_field(cls: type[Struct], version: int, key: str, known: list[str]) -> str:
    others = [str(f.versions) for f in cls.FIELDS if camel_case(f.name) == key]
    if others:
        return f"version {version} has no such field: versions {others[0]} have it"
    near = close_names(key, known)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"no such field: {hint}The fields are {', '.join(known) or 'none'}"


def _shown(value: object) -> str:
    """A value as JSON text."""
    from json import dumps

    text = dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
