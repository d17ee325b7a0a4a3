"""The bytes of a value that is set at a path, encoded by the construct reference where a declaration has the type."""

from __future__ import annotations

import struct
from typing import Any, Final

from protocol_specs.fields import Array, FixedType, SizedType
from protocol_specs.fuzzing.field_map import MutationError, Part, Scope
from protocol_specs.fuzzing.field_parts import Tag
from protocol_specs.fuzzing.wire_numbers import UVARINT, NumberForm
from protocol_specs.message import Struct

_SHOWN_MAX: Final = 60


def encoded(part: Part, value: object, path: str) -> bytes:
    """The bytes of a value at a part: the content alone for a string, bytes or a record set.

    Raises MutationError for `path` if it is not a value of the type.
    """
    import construct

    if part.declared is None:
        raise MutationError(path, f"{part.type_name} has no value that can be set: use Mutation.raw")
    try:
        return _encoded(part, value)
    except (
        construct.ConstructError,
        struct.error,
        ArithmeticError,
        AttributeError,
        ValueError,
        TypeError,
        LookupError,
    ) as error:
        reason = f"{shown(value)} is not a valid {part.type_name}: {error}"
        raise MutationError(path, reason) from None


def shown(value: object) -> str:
    """A value for an error text."""
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 3]}..."


def raw_bytes(value: object) -> bytes:
    """Text or bytes as bytes. Raises TypeError for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{value!r} is neither text nor bytes")


def _encoded(part: Part, value: object) -> bytes:
    from protocol_specs.codec.struct_builder import field_reference, primitive, struct_reference

    declared = part.declared
    if isinstance(declared, NumberForm):
        if not isinstance(value, int):
            raise TypeError(f"{value!r} is not an integer")
        return declared.write(value)
    if isinstance(declared, FixedType):
        return bytes(primitive(declared, flexible=False, nullable=False).build(value))
    if declared is SizedType or isinstance(declared, SizedType):
        return raw_bytes(value)
    assert part.scope is not None
    version, flexible = part.scope.version, part.scope.flexible
    if isinstance(declared, Tag):
        if declared.field is None:
            data = raw_bytes(value)
        else:
            reference = field_reference(declared.field, version, flexible=True)
            data = reference.build(_plain(value, part.scope))
        return UVARINT.write(declared.number) + UVARINT.write(len(data)) + data
    if part.field is not None and (isinstance(declared, Array) or version in part.field.nullable):
        reference = field_reference(part.field, version, flexible=flexible)
    else:
        reference = struct_reference(declared, version, flexible=flexible)
    return bytes(reference.build(_plain(value, part.scope)))


def _plain(value: object, scope: Scope) -> Any:
    from protocol_specs.codec.struct_builder import to_reference

    if isinstance(value, Struct):
        return to_reference(value, scope.version, flexible=scope.flexible)
    return [_plain(item, scope) for item in value] if isinstance(value, list | tuple) else value
