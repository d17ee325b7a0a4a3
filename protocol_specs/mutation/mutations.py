"""Hostile bytes addressed by field: set, lengthen, shorten, cut, duplicate and delete at a path. Bytes in, bytes out.

    mutate(frame, "Produce", Kind.REQUEST, 9, [
        Mutation.set("topic_data[1].partition_data[0].records.batch[2].crc", 0),
        Mutation.lengthen("header.client_id", by=40, reframe=Reframe(frame_size=False)),
    ])

Changes are made one after another: each path is that of the bytes as the changes before it left them. What promises
something about the changed bytes is computed anew, level by level as `reframe` says, and never where it was set by
a change itself. All other bytes stay as they were, however odd.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.message import Kind
from protocol_specs.mutation.field_paths import (
    UnknownFieldPath,
    every_path,
    find_node,
    segments_of,
    with_seen_through,
)
from protocol_specs.mutation.field_tree import (
    CompressedSection,
    Framing,
    Group,
    Leaf,
    MutationError,
    Node,
    Reframe,
    ancestors,
    touch,
    touch_count,
    touch_own_size,
)
from protocol_specs.mutation.frame_tree import frame_tree
from protocol_specs.mutation.message_tree import message_tree
from protocol_specs.mutation.record_tree import record_set_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from protocol_specs.message import Buffer, Message

GROWTH_BYTES_MAX: Final = 16 * 1024 * 1024
"""How many bytes the changes of one call may add."""

PATHS_MAX: Final = 100_000
"""How many paths are listed."""


class Operation(enum.Enum):
    """What a change does to the field at its path."""

    SET = "set"
    RAW = "raw"
    LENGTHEN = "lengthen"
    SHORTEN = "shorten"
    CUT = "cut"
    DUPLICATE = "duplicate"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change at a field's path, made by the class methods. Its `reframe`, when given, wins over the call's."""

    operation: Operation
    path: str
    value: object = None
    amount: int = 1
    of: str = ""
    reframe: Reframe | bool | None = None

    @classmethod
    def set(cls, path: str, value: object, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Write a value of the field's type: a number, text or bytes or None, a list, a dict or a struct.

        A length, count or checksum that is set keeps its value. None is written even where null is not allowed.
        """
        return cls(operation=Operation.SET, path=path, value=value, reframe=reframe)

    @classmethod
    def raw(cls, path: str, data: bytes, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Write these bytes in the place of the field's own, its length or count included."""
        return cls(operation=Operation.RAW, path=path, value=data, reframe=reframe)

    @classmethod
    def lengthen(
        cls, path: str, *, by: int = 1, fill: bytes = b"\0", reframe: Reframe | bool | None = None
    ) -> Mutation:
        """Put `by` more bytes, `fill` repeated, at the end of what the field holds."""
        return cls(operation=Operation.LENGTHEN, path=path, value=fill, amount=by, reframe=reframe)

    @classmethod
    def shorten(cls, path: str, *, by: int = 1, reframe: Reframe | bool | None = None) -> Mutation:
        """Take `by` bytes from the end of what the field holds."""
        return cls(operation=Operation.SHORTEN, path=path, amount=by, reframe=reframe)

    @classmethod
    def cut(cls, path: str, *, offset: int = 0, of: str = "", reframe: Reframe | bool | None = None) -> Mutation:
        """Take away everything from `offset` bytes into the field up to the end of the field `of`, or of all bytes.

        What stands inside of `of` keeps promising the bytes that are gone; `of` itself and what is around it do not.
        """
        return cls(operation=Operation.CUT, path=path, amount=offset, of=of, reframe=reframe)

    @classmethod
    def duplicate(cls, path: str, *, times: int = 1, reframe: Reframe | bool | None = None) -> Mutation:
        """Repeat an element, a tag, a batch, a record, or any field, right after itself."""
        return cls(operation=Operation.DUPLICATE, path=path, amount=times, reframe=reframe)

    @classmethod
    def delete(cls, path: str, *, reframe: Reframe | bool | None = None) -> Mutation:
        """Leave out an element, a tag, a batch, a record, or any field."""
        return cls(operation=Operation.DELETE, path=path, reframe=reframe)


def mutate(
    frame: Buffer,
    api: str | int,
    kind: Kind,
    version: int,
    mutations: Sequence[Mutation],
    *,
    reframe: Reframe | bool = True,
) -> bytes:
    """Change a whole frame: size, header and message. Raises MutationError, MessageDecodeError, UnknownApi."""
    return _changed(frame_tree(_class_of(api, kind), version, bytes(frame)), mutations, reframe)


def mutate_message(
    cls: type[Message], version: int, data: Buffer, mutations: Sequence[Mutation], *, reframe: Reframe | bool = True
) -> bytes:
    """Change a message without size and header; bytes after it stay. Raises MutationError, MessageDecodeError."""
    whole = bytes(data)
    tree, stop = message_tree(cls, version, whole, 0)
    return _changed(tree, mutations, reframe) + whole[stop:]


def mutate_record_set(data: Buffer, mutations: Sequence[Mutation], *, reframe: Reframe | bool = True) -> bytes:
    """Change a record set: paths begin with `batch[0]` or `message[0]`. Raises MutationError."""
    return _changed(record_set_tree(bytes(data)), mutations, reframe)


def frame_paths(frame: Buffer, api: str | int, kind: Kind, version: int, *, limit: int = PATHS_MAX) -> list[str]:
    """Every path of a whole frame, in wire order, the first `limit` of them. Raises MessageDecodeError, UnknownApi."""
    return _limited(every_path(frame_tree(_class_of(api, kind), version, bytes(frame))), limit)


def message_paths(cls: type[Message], version: int, data: Buffer, *, limit: int = PATHS_MAX) -> list[str]:
    """Every path of a message without size and header, in wire order. Raises MessageDecodeError."""
    return _limited(every_path(message_tree(cls, version, bytes(data), 0)[0]), limit)


def _limited(paths: Iterator[str], limit: int) -> list[str]:
    from itertools import islice

    return list(islice(paths, limit))


def _class_of(api: str | int, kind: Kind) -> type[Message]:
    if kind not in {Kind.REQUEST, Kind.RESPONSE}:
        raise MutationError(kind.value, "a frame holds a request or a response: use mutate_message for other schemas")
    key = ApiKey.named(api) if isinstance(api, str) else api
    return registry.request_type(key) if kind is Kind.REQUEST else registry.response_type(key)


def _changed(root: Group, mutations: Sequence[Mutation], reframe: Reframe | bool) -> bytes:  # noqa: FBT001
    growth_left = GROWTH_BYTES_MAX
    for mutation in mutations:
        wanted = reframe if mutation.reframe is None else mutation.reframe
        levels = wanted if isinstance(wanted, Reframe) else Reframe() if wanted else Reframe.nothing()
        growth_left -= _growth(root, mutation)
        if growth_left < 0:
            reason = f"the changes add more than GROWTH_BYTES_MAX={GROWTH_BYTES_MAX} bytes"
            raise MutationError(mutation.path, reason)
        _OPERATIONS[mutation.operation](root, mutation, levels)
        root.render()  # promises are settled before the next change, which may ask for others
    return root.render()


def _growth(root: Group, mutation: Mutation) -> int:
    if mutation.operation is Operation.LENGTHEN:
        return mutation.amount
    if mutation.operation is Operation.DUPLICATE:
        return mutation.amount * len(find_node(root, mutation.path).render())
    return 0


def _set(root: Group, mutation: Mutation, levels: Reframe) -> None:
    try:
        node = find_node(root, mutation.path)
    except UnknownFieldPath:
        if not _insert_tag(root, mutation, levels):
            raise
        return
    if isinstance(node, Framing):
        node.data = _built(node, mutation).render()
        node.pinned = True
    elif _is_sized(node):
        assert isinstance(node, Group)
        held = None if mutation.value is None else _built(node, mutation)
        node.children = node.children[:1]
        node.null = held is None
        if held is not None:
            node.insert(1, held)
        touch_own_size(node, levels)
    else:
        made = _built(node, mutation)
        _replace(node, made)
        _keep_promises(node, made, levels)
        node = made
    touch(node, levels)


def _is_sized(node: Node) -> bool:
    first = node.children[0] if isinstance(node, Group) and node.children else None
    return isinstance(first, Framing) and first.level == "lengths"


def _keep_promises(old: Node, made: Node, levels: Reframe) -> None:
    """Let a group built anew promise what the one before it did, where that is asked for or was set by hand."""
    before = (
        {child.name: child for child in old.children if isinstance(child, Framing)} if isinstance(old, Group) else {}
    )
    for child in made.children if isinstance(made, Group) else ():
        kept = before.get(child.name)
        if isinstance(child, Framing) and kept is not None and (kept.pinned or not getattr(levels, child.level)):
            child.data, child.pinned = kept.data, kept.pinned


def _built(node: Node, mutation: Mutation) -> Node:
    import struct

    import construct

    if node.build is None:
        raise MutationError(mutation.path, f"{node.type_name} has no value that can be set: use Mutation.raw")
    try:
        return node.build(mutation.value)
    except (
        construct.ConstructError,
        struct.error,
        ArithmeticError,
        AttributeError,
        ValueError,
        TypeError,
        LookupError,
    ) as error:
        reason = f"{_shown(mutation.value)} is no {node.type_name}: {error}"
        raise MutationError(mutation.path, reason) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _insert_tag(root: Group, mutation: Mutation, levels: Reframe) -> bool:
    """Write a tagged field that is at its default, and so not on the wire; False when there is none of that name."""
    *outer, (name, index) = segments_of(mutation.path)
    holder = find_node(root, mutation.path.rpartition(".")[0]) if outer else root
    section = _tag_section(holder)
    if index is not None or section is None or name not in section.optional:
        return False
    tag, make = section.optional[name]
    section.build = make
    made = _built(section, mutation)
    section.build = None
    at = len(section.children)
    for position, child in enumerate(section.children[1:], start=1):
        assert isinstance(child, Group)
        if _tag_number(child) > tag:
            at = position
            break
    section.insert(at, made)
    touch(made, levels)
    touch_count(section, levels)
    return True


def _tag_section(node: Node) -> Group | None:
    if not isinstance(node, Group):
        return None
    for child in node.children:
        if isinstance(child, Group) and child.name == "unknown_tags":
            return child
        if isinstance(child, Group) and child.see_through:
            found = _tag_section(child)
            if found is not None:
                return found
    return None


def _tag_number(tag: Group) -> int:
    from protocol_specs.codec.runtime import uvarint

    try:
        return uvarint(tag.children[0].render(), 0)[0]
    except IndexError:
        return 0


def _raw(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    if not isinstance(mutation.value, bytes | bytearray | memoryview):
        raise MutationError(mutation.path, f"{_shown(mutation.value)} is no bytes")
    data = bytes(mutation.value)
    if isinstance(node, Framing):
        node.data = data
        node.pinned = True
        touch(node, levels)
        return
    made = Leaf(node.name, node.type_name, data, node.build)
    _replace(node, made)
    touch(made, levels)


def _replace(node: Node, made: Node) -> None:
    group = node.parent
    if group is None:
        raise MutationError("", "the whole cannot be replaced: say which field")
    made.name, made.element, made.counts, made.series = node.name, node.element, node.counts, node.series
    if isinstance(made, Group) and isinstance(node, Group):
        made.see_through = node.see_through
    made.parent = group
    group.children[next(i for i, child in enumerate(group.children) if child is node)] = made
    for promise in (*group.children, *(group.parent.children if group.parent is not None else ())):
        if isinstance(promise, Framing) and promise.counted is node and isinstance(made, Group):
            promise.counted = made


def _lengthen(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    fill = mutation.value
    if not isinstance(fill, bytes | bytearray) or not fill or mutation.amount < 0:
        raise MutationError(mutation.path, f"lengthen by {mutation.amount} with {_shown(fill)}: nothing to add")
    target = _innermost(node)
    target.add_tail((bytes(fill) * (mutation.amount // len(fill) + 1))[: mutation.amount])
    touch_own_size(target, levels)
    touch(target, levels)


def _shorten(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    held = len(node.content())
    if not 0 <= mutation.amount <= held:
        raise MutationError(mutation.path, f"shorten by {mutation.amount}: it holds {held} bytes")
    target = _innermost(node)
    target.drop_tail(mutation.amount)
    touch_own_size(target, levels)
    touch(target, levels)


def _innermost(node: Node) -> Node:
    """What a field holds, behind its length: the node whose end is the end of its content."""
    while isinstance(node, Group) and _is_sized(node) and len(node.children) == 2:
        node = node.children[1]
    return node


def _cut(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    end: Node = find_node(root, mutation.of) if mutation.of else root
    if end is not node and end not in list(ancestors(node)):
        raise MutationError(mutation.path, f"it is not inside of {mutation.of}")
    data = node.render()
    if not 0 <= mutation.amount <= len(data):
        raise MutationError(mutation.path, f"cut at {mutation.amount}: it has {len(data)} bytes")
    kept: Node = Leaf(node.name, node.type_name, data[: mutation.amount], node.build)
    _replace(node, kept)
    part = kept
    while part.parent is not None and (part is kept or part is not end) and node is not end:
        group = part.parent
        after = next(i for i, child in enumerate(group.children) if child is part) + 1
        group.children = group.children[: after - (part is kept and not mutation.amount)]
        if isinstance(group, CompressedSection):
            group.changed = True
        part = group
    if node is not end:
        touch_own_size(end, levels)
        for group in with_seen_through(end):
            touch_count(group, levels)
    touch(part, levels)


def _duplicate(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    group = node.parent
    if group is None or mutation.amount < 1:
        raise MutationError(mutation.path, f"cannot be repeated {mutation.amount} times")
    at = next(i for i, child in enumerate(group.children) if child is node)
    for _ in range(mutation.amount):
        made = node.copy()
        group.insert(at + 1, made)
        touch(made, levels)
    touch_count(group, levels)


def _delete(root: Group, mutation: Mutation, levels: Reframe) -> None:
    node = find_node(root, mutation.path)
    group = node.parent
    assert group is not None
    touch(node, levels)
    group.children = [child for child in group.children if child is not node]
    if node.counts:
        touch_count(group, levels)


_OPERATIONS: Final[dict[Operation, Callable[[Group, Mutation, Reframe], None]]] = {
    Operation.SET: _set,
    Operation.RAW: _raw,
    Operation.LENGTHEN: _lengthen,
    Operation.SHORTEN: _shorten,
    Operation.CUT: _cut,
    Operation.DUPLICATE: _duplicate,
    Operation.DELETE: _delete,
}
