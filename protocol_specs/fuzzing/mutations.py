"""Mutations of bytes by field path: set, raw, lengthen, duplicate, delete, append and others. Bytes in, bytes out.

    mutate_frame(frame, "Produce", Kind.REQUEST, 9, [
        Mutation.set("topic_data[1].partition_data[0].records.batch[2].crc", 0),
        Mutation.lengthen("header.client_id", by=40, reframe=Reframe(frame_size=False)),
    ])

Mutations are applied one after another: each path refers to the bytes that the mutations before it produced. `[*]` in a
path stands for every element. Lengths, counts and checksums around the changed bytes are computed anew at the levels
that `reframe` selects, unless a mutation set them. All other bytes keep their values.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array
from protocol_specs.fuzzing.field_map import FieldMap, MutationError, Part, Promise, Reframe, sealed
from protocol_specs.fuzzing.field_parts import (
    Tag,
    content_part,
    frame_map,
    message_map,
    record_set_map,
    value_parts,
)
from protocol_specs.fuzzing.field_paths import UnknownFieldPath, every_path, locate, tagged_default
from protocol_specs.fuzzing.field_values import encoded, shown
from protocol_specs.message import Kind, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from protocol_specs.message import Buffer, Message

GROWTH_BYTES_MAX: Final = 16 * 1024 * 1024
"""How many bytes the mutations of one call can add."""

GROWTH_PARTS_MAX: Final = 20_000
"""How many fields and elements the mutations of one call can add: every change passes over all that are there."""

PATHS_MAX: Final = 100_000
"""How many paths are listed."""


class Operation(enum.Enum):
    """How a mutation changes the field at its path."""

    SET = "set"
    RAW = "raw"
    LENGTHEN = "lengthen"
    SHORTEN = "shorten"
    CUT = "cut"
    DUPLICATE = "duplicate"
    DELETE = "delete"
    APPEND = "append"
    REVERSE = "reverse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change at a field's path, made by the class methods; its own `reframe` overrides that of the call."""

    operation: Operation
    path: str
    value: object = None
    amount: int = 1
    of: str = ""
    reframe: Reframe | bool | None = None

    @classmethod
    def set(cls, path: str, value: object, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Write a value of the field's type: a number, text, bytes, None, a list, a dict or a struct.

        A length, count or checksum that is set keeps the value. None is written even where a version does not allow it.
        """
        return cls(operation=Operation.SET, path=path, value=value, reframe=reframe)

    @classmethod
    def raw(cls, path: str, data: bytes, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Replace the bytes of the field, its length or count included."""
        return cls(operation=Operation.RAW, path=path, value=data, reframe=reframe)

    @classmethod
    def lengthen(
        cls, path: str, *, by: int = 1, fill: bytes = b"\0", reframe: Reframe | bool | None = None
    ) -> Mutation:
        """Add `by` bytes, `fill` repeated, at the end of the content of the field."""
        return cls(operation=Operation.LENGTHEN, path=path, value=fill, amount=by, reframe=reframe)

    @classmethod
    def shorten(cls, path: str, *, by: int = 1, reframe: Reframe | bool | None = None) -> Mutation:
        """Remove `by` bytes from the end of the content of the field."""
        return cls(operation=Operation.SHORTEN, path=path, amount=by, reframe=reframe)

    @classmethod
    def cut(cls, path: str, *, offset: int = 0, of: str = "", reframe: Reframe | bool | None = None) -> Mutation:
        """Remove everything from `offset` bytes into the field to the end of the field `of`, or of all bytes.

        Lengths inside `of` keep their values and exceed the bytes that are left; those of `of` and around it do not.
        """
        return cls(operation=Operation.CUT, path=path, amount=offset, of=of, reframe=reframe)

    @classmethod
    def duplicate(cls, path: str, *, times: int = 1, reframe: Reframe | bool | None = None) -> Mutation:
        """Repeat an element, a tag, a batch, a record, or any field, after itself."""
        return cls(operation=Operation.DUPLICATE, path=path, amount=times, reframe=reframe)

    @classmethod
    def append(cls, path: str, value: object, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Put one more element at the end of an array: a copy of the last one with this value, if it has any."""
        return cls(operation=Operation.APPEND, path=path, value=value, reframe=reframe)

    @classmethod
    def reverse(cls, path: str, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Put the elements of an array into the opposite order."""
        return cls(operation=Operation.REVERSE, path=path, reframe=reframe)

    @classmethod
    def delete(cls, path: str, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Remove an element, a tag, a batch, a record, or any field."""
        return cls(operation=Operation.DELETE, path=path, reframe=reframe)


def mutate_frame(
    frame: Buffer,
    api: str | int,
    kind: Kind,
    version: int,
    mutations: Sequence[Mutation],
    *,
    reframe: Reframe | bool = True,
) -> bytes:
    """A whole frame (size, header and message) after mutations.

    Raises MutationError, MessageDecodeError for a frame that is not valid, and UnknownApi.
    """
    return mutated(frame_map(_class_of(api, kind), version, bytes(frame)), mutations, reframe)


def mutate_message(
    cls: type[Message], version: int, data: Buffer, mutations: Sequence[Mutation], *, reframe: Reframe | bool = True
) -> bytes:
    """A message without size and header after mutations; bytes after the message stay.

    Raises MutationError, and MessageDecodeError for bytes that are not valid.
    """
    whole = bytes(data)
    fields = message_map(cls, version, whole)
    rest = whole[fields.root.stop :]
    return mutated(fields, mutations, reframe) + rest


def mutate_record_set(data: Buffer, mutations: Sequence[Mutation], *, reframe: Reframe | bool = True) -> bytes:
    """A record set after mutations; paths begin with `batch[0]` or `message[0]`. Raises MutationError."""
    return mutated(record_set_map(bytes(data)), mutations, reframe)


def frame_paths(frame: Buffer, api: str | int, kind: Kind, version: int, *, limit: int = PATHS_MAX) -> list[str]:
    """The first `limit` paths of a whole frame in wire order. Raises MessageDecodeError and UnknownApi."""
    return list(islice(every_path(frame_map(_class_of(api, kind), version, bytes(frame))), limit))


def message_paths(cls: type[Message], version: int, data: Buffer, *, limit: int = PATHS_MAX) -> list[str]:
    """The first `limit` paths of a message without size and header in wire order. Raises MessageDecodeError."""
    return list(islice(every_path(message_map(cls, version, bytes(data))), limit))


def mutated(fields: FieldMap, mutations: Sequence[Mutation], reframe: Reframe | bool) -> bytes:  # noqa: FBT001
    """The bytes of a map after mutations, which change the map. Raises MutationError."""
    growth_left, parts_left = GROWTH_BYTES_MAX, GROWTH_PARTS_MAX
    for mutation in chain.from_iterable(_each(fields, mutation) for mutation in mutations):
        selected = reframe if mutation.reframe is None else mutation.reframe
        levels = selected if isinstance(selected, Reframe) else Reframe() if selected else Reframe.nothing()
        added_bytes, added_parts = _growth(fields, mutation)
        growth_left -= added_bytes
        if growth_left < 0:
            reason = f"the mutations add more than GROWTH_BYTES_MAX={GROWTH_BYTES_MAX} bytes"
            raise MutationError(mutation.path, reason)
        parts_left -= added_parts
        if parts_left < 0:
            reason = f"the mutations add more than GROWTH_PARTS_MAX={GROWTH_PARTS_MAX} fields and elements"
            raise MutationError(mutation.path, reason)
        _apply(fields, mutation, levels)
    return fields.data


def _each(fields: FieldMap, mutation: Mutation) -> Iterator[Mutation]:
    """Iterate over one mutation per element that the path names, the last one first: indexes stay valid."""
    if "[*]" not in mutation.path:
        yield mutation
        return
    pattern = re.compile(re.escape(mutation.path).replace(r"\[\*\]", r"\[\d+\]"))
    paths = [path for path in every_path(fields) if pattern.fullmatch(path)]
    if not paths:
        raise MutationError(mutation.path, "there is no such element")
    yield from (replace(mutation, path=path) for path in reversed(paths))


def _class_of(api: str | int, kind: Kind) -> type[Message]:
    if kind not in {Kind.REQUEST, Kind.RESPONSE}:
        raise MutationError(kind.value, "a frame holds a request or a response: use mutate_message for other schemas")
    key = ApiKey.named(api) if isinstance(api, str) else api
    return registry.request_type(key) if kind is Kind.REQUEST else registry.response_type(key)


def _growth(fields: FieldMap, mutation: Mutation) -> tuple[int, int]:
    """The bytes and the parts that a mutation adds."""
    if mutation.operation is Operation.LENGTHEN:
        return mutation.amount, 0
    if mutation.operation is Operation.DUPLICATE:
        place, part = locate(fields, mutation.path)[-1]
        return mutation.amount * (part.stop - part.start), mutation.amount * (1 + len(place.subtree(part)))
    return 0, 0


def _apply(fields: FieldMap, mutation: Mutation, levels: Reframe) -> None:
    try:
        found = locate(fields, mutation.path)
    except UnknownFieldPath:
        if mutation.operation is not Operation.SET or not _insert_tag(fields, mutation, levels):
            raise
        return
    if mutation.operation is Operation.CUT:
        _cut(fields, found, mutation, levels)
        return
    _OPERATIONS[mutation.operation](*found[-1], mutation, levels)
    for outer, section in reversed(found[:-1]):
        outer.replace(section, sealed(section))
        if mutation.operation in {Operation.DUPLICATE, Operation.DELETE}:
            outer.recount(section, levels)
        outer.settle(section, levels)


def _set(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    value = mutation.value
    if part.is_sized:
        _set_content(fields, part, None if value is None else encoded(part, value, mutation.path))
        fields.settle(part, levels, own=True)
        return
    data = encoded(part, value, mutation.path)
    if part.promise is not None:
        part.promise.pinned = True
    kept = [child for child in fields.children(part) if child.promise is not None and _is_kept(child.promise, levels)]
    earlier = [(child.path, child.promise, fields.bytes_of(child)) for child in kept]
    has_parts = isinstance(part.declared, Array | Tag) or (
        isinstance(part.declared, type) and issubclass(part.declared, Struct)
    )
    fields.replace(part, data, value_parts(part, data) if has_parts else ())
    for path, promise, data in earlier:
        for child in fields.children(part):
            if child.path == path and child.promise is not None and promise is not None:
                child.promise.pinned = promise.pinned
                fields.replace(child, data)
    fields.settle(part, levels)


def _is_kept(promise: Promise, levels: Reframe) -> bool:
    """True if a promise survives when the part that it is in gets another value."""
    return promise.pinned or not getattr(levels, promise.level)


def _set_content(fields: FieldMap, part: Part, data: bytes | None) -> None:
    before = part
    for child in fields.children(part):
        if child.promise is None:
            fields.remove(child)
        else:
            before = child
    part.is_null = data is None
    if data is not None:
        start = part.start if before is part else before.stop
        fields.insert_after(before, part, start, data, [content_part(part, start, len(data))])


def _insert_tag(fields: FieldMap, mutation: Mutation, levels: Reframe) -> bool:
    """Write a tagged field that is at its default and therefore not in the bytes; False if the path is none."""
    found = tagged_default(fields, mutation.path)
    if found is None:
        return False
    section, f = found
    assert f.tag is not None
    before, *tags = fields.children(section)
    for tag in tags:
        if isinstance(tag.declared, Tag) and tag.declared.number < f.tag:
            before = tag
    made = Part(
        mutation.path, before.stop, before.stop, "tag", section, Tag(f.tag, f), scope=section.scope, counts=True
    )
    data = encoded(made, mutation.value, mutation.path)
    parts = value_parts(made, data)
    made.stop += len(data)
    fields.insert_after(before, section, before.stop, data, [made, *parts])
    fields.recount(section, levels)
    fields.settle(made, levels)
    return True


def _raw(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    if not isinstance(mutation.value, bytes | bytearray | memoryview):
        raise MutationError(mutation.path, f"{shown(mutation.value)} is not bytes")
    fields.replace(part, bytes(mutation.value))
    if part.promise is not None:
        part.promise.pinned = True
    part.is_sized, part.expand, part.inside = False, None, None
    fields.settle(part, levels)


def _lengthen(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    fill, by = mutation.value, mutation.amount
    if not isinstance(fill, bytes | bytearray) or not fill or by < 0:
        raise MutationError(mutation.path, f"lengthen by {by} with {shown(fill)}: nothing to add")
    part = _content_of(fields, part)
    fields.append(part, (bytes(fill) * (by // len(fill) + 1))[:by])
    fields.settle(part, levels, own=True)


def _shorten(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    held = part.stop - part.start
    for child in fields.children(part):
        if child.promise is None or child.start != part.stop - held:
            break
        held = part.stop - child.stop
    if not 0 <= mutation.amount <= held:
        raise MutationError(mutation.path, f"shorten by {mutation.amount}: it holds {held} bytes")
    part = _content_of(fields, part)
    fields.truncate(part, part.stop - mutation.amount)
    fields.settle(part, levels, own=True)


def _content_of(fields: FieldMap, part: Part) -> Part:
    """The part whose end is changed; what a compressed section holds is unknown afterwards."""
    if part.is_sized:
        part = next((child for child in fields.children(part) if child.promise is None), part)
    if part.promise is not None:
        part.promise.pinned = True
    if part.inside is not None:
        part.inside, part.unread = None, "its compressed bytes were changed"
    return part


def _cut(fields: FieldMap, found: list[tuple[FieldMap, Part]], mutation: Mutation, levels: Reframe) -> None:
    *outer, (end_map, end) = locate(fields, mutation.of) if mutation.of else [(fields, fields.root)]
    depth = len(outer)
    if len(found) <= depth or (end is not found[depth][1] and end not in found[depth][1].around()):
        raise MutationError(mutation.path, f"it is not inside of {mutation.of}")
    part = found[-1][1]
    if not 0 <= mutation.amount <= part.stop - part.start:
        raise MutationError(mutation.path, f"cut at {mutation.amount}: it has {part.stop - part.start} bytes")
    if part.promise is not None:
        part.promise.pinned = True
    position = part.start + mutation.amount
    for index in range(len(found) - 1, depth, -1):
        inner, outer_map, section = found[index][0], *found[index - 1]
        inner.truncate(inner.root, position)
        outer_map.replace(section, sealed(section))
        position = section.stop
    end_map.truncate(end, position)
    if end is part:
        end_map.settle(end, levels)
    else:
        for holder in (end, *(child for child in end_map.children(end) if child.holds)):
            end_map.recount(holder, levels)
        end_map.settle(end, levels, own=True)
    for index in range(depth - 1, -1, -1):
        outer_map, section = found[index]
        outer_map.replace(section, sealed(section))
        outer_map.settle(section, levels)


def _duplicate(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    if part.parent is None or mutation.amount < 1:
        raise MutationError(mutation.path, f"cannot be repeated {mutation.amount} times")
    last = fields.duplicate(part, mutation.amount)
    fields.recount(part.parent, levels)
    fields.settle(last, levels)


def _append(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    elements = _elements_of(fields, part, mutation)
    if not elements:
        _set(fields, part, replace(mutation, value=[mutation.value]), levels)
        return
    last = fields.duplicate(elements[-1], 1)
    fields.recount(part, levels)
    _set(fields, last, mutation, levels)


def _reverse(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    elements = _elements_of(fields, part, mutation)
    if elements:
        head = fields.data[part.start : elements[0].start]
        data = head + b"".join(fields.bytes_of(element) for element in reversed(elements))
        fields.replace(part, data, value_parts(part, data))
        fields.settle(part, levels)


def _elements_of(fields: FieldMap, part: Part, mutation: Mutation) -> list[Part]:
    if not isinstance(part.declared, Array):
        raise MutationError(mutation.path, f"{mutation.operation.value} needs an array")
    return [child for child in fields.children(part) if child.is_element]


def _delete(fields: FieldMap, part: Part, mutation: Mutation, levels: Reframe) -> None:
    del mutation
    assert part.parent is not None
    fields.remove(part)
    if part.counts:
        fields.recount(part.parent, levels)
    fields.settle(part, levels)


_OPERATIONS: Final[dict[Operation, Callable[[FieldMap, Part, Mutation, Reframe], None]]] = {
    Operation.SET: _set,
    Operation.RAW: _raw,
    Operation.LENGTHEN: _lengthen,
    Operation.SHORTEN: _shorten,
    Operation.DUPLICATE: _duplicate,
    Operation.DELETE: _delete,
    Operation.APPEND: _append,
    Operation.REVERSE: _reverse,
}
