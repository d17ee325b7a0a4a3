"""Changes of a message object by field path: the changed structs are copied, all others stay the same objects.

    edited(response, [Mutation.set("responses[0].partitions[0].error_code", 6)])

For messages that travel by reference; `protocol_specs.fuzzing` changes bytes. A path names fields and elements of
lists, `[*]` every element. Lengths, counts and the bytes of records have no place in an object.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.entities import struct_of
from protocol_specs.fuzzing.field_map import MutationError
from protocol_specs.fuzzing.mutations import Mutation, Operation
from protocol_specs.message import Struct
from protocol_specs.spelling import close_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from protocol_specs.message import Field, Message

__all__ = ["edited"]

_STEP: Final = re.compile(r"([A-Za-z_]\w*)(?:\[(\d+|\*)\])?")


def edited(message: Message, mutations: Sequence[Mutation]) -> Message:
    """Return the message after mutations, one after another. Raises MutationError for one that is impossible."""
    for mutation in mutations:
        change = _OPERATIONS.get(mutation.operation)
        if change is None:
            problem = f"{mutation.operation.value} changes bytes: this message travels by reference"
            raise MutationError(mutation.path, problem)
        steps = []
        for part in mutation.path.split("."):
            step = _STEP.fullmatch(part)
            if step is None:
                raise MutationError(mutation.path, f"{part!r} is no field and no element")
            steps.append((step[1], step[2]))
        message = _changed(message, steps, mutation, change)
    return message


def _changed(struct: Any, steps: list[tuple[str, str | None]], mutation: Mutation, change: _Change) -> Any:
    """Return a copy of a struct in which the field or the elements at the path are changed."""
    (name, index), *rest = steps
    field = _field(struct, name, mutation)
    value = getattr(struct, name)
    copied = copy.copy(struct)
    if index is None:
        if rest:
            after = _changed(value, rest, mutation, change)
        else:
            (after,) = change([value], 0, field, mutation)
    else:
        after = list(value or ())
        places = range(len(after)) if index == "*" else [int(index)]
        for place in reversed(places):
            if place >= len(after):
                raise MutationError(mutation.path, f"{name} has {len(after)} elements")
            if rest:
                after[place] = _changed(after[place], rest, mutation, change)
            else:
                after = change(after, place, field, mutation)
    setattr(copied, name, after)
    return copied


def _field(struct: Any, name: str, mutation: Mutation) -> Field:
    if not isinstance(struct, Struct):
        raise MutationError(mutation.path, f"there is no struct with a field {name!r}: it travels by reference")
    for field in struct.FIELDS:
        if field.name == name:
            return field
    close = close_names(name, [field.name for field in struct.FIELDS])
    hint = f": did you mean {close[0]}?" if close else ""
    raise MutationError(mutation.path, f"{type(struct).__name__} has no field {name!r}{hint}")


def _set(values: list[Any], place: int, field: Field, mutation: Mutation) -> list[Any]:
    return [*values[:place], _made(mutation.value, field), *values[place + 1 :]]


def _duplicate(values: list[Any], place: int, _: Field, mutation: Mutation) -> list[Any]:
    return [*values[: place + 1], *values[place : place + 1] * mutation.amount, *values[place + 1 :]]


def _delete(values: list[Any], place: int, _: Field, __: Mutation) -> list[Any]:
    return [*values[:place], *values[place + 1 :]]


def _append(values: list[Any], place: int, field: Field, mutation: Mutation) -> list[Any]:
    return [*values[:place], [*_list(values[place], mutation), _made(mutation.value, field)], *values[place + 1 :]]


def _reverse(values: list[Any], place: int, _: Field, mutation: Mutation) -> list[Any]:
    return [*values[:place], _list(values[place], mutation)[::-1], *values[place + 1 :]]


def _list(value: Any, mutation: Mutation) -> list[Any]:
    if not isinstance(value, list):
        raise MutationError(mutation.path, "it is no list")
    return value


def _made(value: Any, field: Field) -> Any:
    """Return a value with structs in place of mappings."""
    cls = struct_of(field)
    if isinstance(value, list):
        return [_made(each, field) for each in value]
    if cls is None or not isinstance(value, dict):
        return value
    fields = {inner.name: inner for inner in cls.FIELDS}
    return cls(**{name: _made(each, fields[name]) if name in fields else each for name, each in value.items()})


if TYPE_CHECKING:
    _Change = Callable[[list[Any], int, Field, Mutation], list[Any]]

_OPERATIONS: Final[dict[Operation, _Change]] = {
    Operation.SET: _set,
    Operation.DUPLICATE: _duplicate,
    Operation.DELETE: _delete,
    Operation.APPEND: _append,
    Operation.REVERSE: _reverse,
}
