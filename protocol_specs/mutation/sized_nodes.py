"""Nodes of a tree that begin with a promise: sized values and counted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.mutation.field_tree import Framing, Group, Leaf, Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.mutation.wire_lengths import LengthForm


def sized(name: str, type_name: str, form: LengthForm, prefix: bytes, held: Node | None) -> Group:
    """A value with its length before it; `held` is None for null.

    Its own parts are `name.length` and `name.content`; its `build` makes what it holds, not the whole.
    """
    length = Framing("length", form.name, prefix, level="lengths", encode=form.write)
    group = Group(name, type_name, [length] if held is None else [length, held])
    group.null = held is None
    group.build = lambda value: content_leaf(raw_bytes(value))
    return group


def sized_bytes(name: str, type_name: str, form: LengthForm, data: bytes, position: int) -> tuple[Group, int]:
    """Read a sized value whose bytes mean nothing more."""
    size, start = form.read(data, position)
    prefix = data[position:start]
    if size < 0:
        return sized(name, type_name, form, prefix, None), start
    stop = start + size
    if stop > len(data):
        raise ValueError(f"length {size}, {len(data) - start} bytes left")
    return sized(name, type_name, form, prefix, content_leaf(data[start:stop])), stop


def content_leaf(data: bytes, name: str = "content") -> Leaf:
    """What a length speaks of."""
    return Leaf(name, "bytes", data, lambda value: content_leaf(raw_bytes(value), name))


def raw_bytes(value: object) -> bytes:
    """Text or bytes as bytes; TypeError for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{value!r} is neither text nor bytes")


def counted(
    name: str,
    type_name: str,
    form: LengthForm,
    prefix: bytes,
    elements: list[Node] | None,
    build: Callable[[object], Node] | None = None,
) -> Group:
    """An array with its count, `name.count`, before its elements; None is null."""
    count = Framing("count", form.name, prefix, level="counts", encode=form.write, measure=None)
    group = Group(name, type_name, [count, *(node.as_element() for node in elements or [])], build)
    group.null = elements is None
    count.counted = group
    return group
