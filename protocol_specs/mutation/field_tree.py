"""A frame as a tree of fields that keeps every byte: what byte faults change, and how the rest is framed again.

Leaves hold the bytes as they came. What promises something about bytes after it (a length, a count, a checksum, the
frame's size) is a Framing leaf: it is computed anew only where a change below it asked for that, so that whatever
was odd elsewhere stays as it was.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol_specs.errors import ProtocolError
from protocol_specs.records.compression import CompressionCodec, compress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class MutationError(ProtocolError):
    """A change that cannot be made at a path; `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reframe:
    """What is computed anew around a change; what is False keeps promising what stood there before it.

    `lengths` are those before strings, bytes and record sets; `counts` those of arrays, tag sections, record headers
    and a batch's records; `batch_lengths` also those of messages of magic 0 and 1.
    """

    lengths: bool = True
    counts: bool = True
    tag_sizes: bool = True
    record_lengths: bool = True
    batch_lengths: bool = True
    checksums: bool = True
    frame_size: bool = True

    @classmethod
    def nothing(cls) -> Reframe:
        """Every promise stays as it was: raw surgery."""
        return cls(
            lengths=False,
            counts=False,
            tag_sizes=False,
            record_lengths=False,
            batch_lengths=False,
            checksums=False,
            frame_size=False,
        )


class Node(ABC):
    """A field, an element or a stretch of bytes. `name` is its path segment; an `element` is found by its index.

    `series` is the name before the index where that is not the name of the array (`batch`, `message`, `record`).
    What `counts` is counted by the promise before it. `build` makes a node of a value, None where none can be set.
    """

    __slots__ = ("build", "counts", "element", "name", "parent", "series", "type_name")

    def __init__(self, name: str, type_name: str, build: Callable[[object], Node] | None = None) -> None:
        self.name = name
        self.type_name = type_name
        self.build = build
        self.element = False
        self.counts = False
        self.series = ""
        self.parent: Group | None = None

    @abstractmethod
    def render(self) -> bytes:
        """The bytes as they are now."""

    def content(self) -> bytes:
        """The bytes without the promises before them."""
        return self.render()

    def copy(self) -> Node:
        """The same again, without a parent."""
        made = copy.copy(self)
        made.parent = None
        return made

    @abstractmethod
    def add_tail(self, data: bytes) -> None:
        """Put bytes at the end."""

    @abstractmethod
    def drop_tail(self, count: int) -> None:
        """Remove that many bytes from the end."""

    def as_element(self, series: str = "") -> Node:
        """The node, found by an index."""
        self.element = self.counts = True
        self.series = series
        return self


class Leaf(Node):
    """Bytes of one value."""

    __slots__ = ("data",)

    def __init__(self, name: str, type_name: str, data: bytes, build: Callable[[object], Node] | None = None) -> None:
        super().__init__(name, type_name, build)
        self.data = data

    def render(self) -> bytes:
        """The bytes as they are now."""
        return self.data

    def add_tail(self, data: bytes) -> None:
        """Put bytes at the end."""
        self.data += data

    def drop_tail(self, count: int) -> None:
        """Remove that many bytes from the end."""
        self.data = self.data[: max(0, len(self.data) - count)]


class Framing(Leaf):
    """A promise about what follows in its group: how many bytes, which checksum, or how many elements there are.

    `measure` makes the number of the bytes that follow; None counts the elements of `counted`. A pinned one was
    set by hand and is never computed.
    """

    __slots__ = ("counted", "dirty", "encode", "level", "measure", "pinned")

    def __init__(
        self,
        name: str,
        type_name: str,
        data: bytes,
        *,
        level: str,
        encode: Callable[[int], bytes],
        measure: Callable[[bytes], int] | None = len,
        counted: Group | None = None,
    ) -> None:
        super().__init__(name, type_name, data, lambda value: Leaf(name, type_name, encode(_integer(value))))
        self.level = level
        self.encode = encode
        self.measure = measure
        self.counted = counted
        self.dirty = False
        self.pinned = False

    def add_tail(self, data: bytes) -> None:
        """Put bytes at the end."""
        super().add_tail(data)
        self.pinned = True

    def drop_tail(self, count: int) -> None:
        """Remove that many bytes from the end."""
        super().drop_tail(count)
        self.pinned = True

    def settle(self, following: bytes) -> None:
        """Compute the promise anew when a change asked for it."""
        if not self.dirty or self.pinned:
            return
        self.dirty = False
        if not following and self.parent is not None and self.parent.null:
            number = -1
        elif self.measure is not None:
            number = self.measure(following)
        else:
            assert self.counted is not None
            number = sum(child.counts for child in self.counted.children)
        try:
            self.data = self.encode(number)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise MutationError(path_of(self), f"{number} does not fit {self.type_name}: {error}") from None


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no integer")
    return value


class Group(Node):
    """Nodes one after another: a struct, an array with its count, a string with its length, a batch, a frame.

    A `see_through` group is no path segment for what it holds. `null` is promised where nothing follows a length.
    `optional` makes the fields that are not there, tagged ones at their default, by name: tag, and value to node.
    `holds` are the series whose elements stand in it. `unread` says why its bytes are one stretch.
    """

    __slots__ = ("children", "holds", "null", "optional", "see_through", "unread")

    def __init__(
        self,
        name: str,
        type_name: str,
        children: list[Node],
        build: Callable[[object], Node] | None = None,
        *,
        see_through: bool = False,
    ) -> None:
        super().__init__(name, type_name, build)
        self.children = children
        self.see_through = see_through
        self.null = False
        self.holds: tuple[str, ...] = ()
        self.unread = ""
        self.optional: dict[str, tuple[int, Callable[[object], Node]]] = {}
        for child in children:
            child.parent = self

    def render(self) -> bytes:
        """The bytes as they are now."""
        parts: list[bytes] = []
        for child in reversed(self.children):
            if isinstance(child, Framing) and child.dirty:
                child.settle(b"".join(reversed(parts)))
            parts.append(child.render())
        return b"".join(reversed(parts))

    def copy(self) -> Group:
        """The same again, without a parent."""
        made = super().copy()
        assert isinstance(made, Group)
        made.children = [child.copy() for child in self.children]
        for child in made.children:
            child.parent = made
            if isinstance(child, Framing) and child.counted is self:
                child.counted = made
            elif isinstance(child, Framing) and child.counted is not None:
                beside = made.children[self.children.index(child.counted)]
                assert isinstance(beside, Group)
                child.counted = beside
        return made

    def content(self) -> bytes:
        """The bytes without the promises before them."""
        first = self.first_of_content()
        return b"".join(child.render() for child in self.children[first:])

    def first_of_content(self) -> int:
        """The index of the first child that is no promise at the beginning."""
        for index, child in enumerate(self.children):
            if not isinstance(child, Framing):
                return index
        return len(self.children)

    def add_tail(self, data: bytes) -> None:
        """Put bytes at the end."""
        self.insert(len(self.children), Leaf("rest" if self.children[1:] else "content", "bytes", data))

    def drop_tail(self, count: int) -> None:
        """Remove that many bytes from the end."""
        for child in reversed(self.children):
            size = len(child.render())
            child.drop_tail(min(size, count))
            count -= min(size, count)
            if not count:
                return

    def insert(self, index: int, node: Node) -> None:
        """Put a node before the child at an index."""
        node.parent = self
        self.children.insert(index, node)

    def elements(self) -> list[Node]:
        """The children that are found by an index."""
        return [child for child in self.children if child.element]


class LazyGroup(Group):
    """A group that is taken apart when it is first looked into: most record sets pass unseen.

    `load` answers the nodes of the original bytes; it may set `unread`.
    """

    __slots__ = ("held", "load", "original")

    def __init__(
        self,
        name: str,
        type_name: str,
        original: bytes,
        load: Callable[[LazyGroup], list[Node]],
        *,
        see_through: bool = False,
    ) -> None:
        super().__init__(name, type_name, [], see_through=see_through)
        self.original = original
        self.load = load
        self.held: list[Node] | None = None

    @property
    def children(self) -> list[Node]:
        """The nodes inside, read at the first look."""
        if self.held is None:
            self.held = self.load(self)
            for child in self.held:
                child.parent = self
        return self.held

    @children.setter
    def children(self, children: list[Node]) -> None:
        self.held = children

    def render(self) -> bytes:
        """The bytes as they are now."""
        return self.original if self.held is None else super().render()

    def copy(self) -> Group:
        """The same again, without a parent."""
        if self.held is not None:
            return super().copy()
        made = copy.copy(self)
        made.parent = None
        return made


class CompressedSection(LazyGroup):
    """Records behind a codec: the bytes stay as they came until something below changes, then they are compressed."""

    __slots__ = ("changed", "codec")

    def __init__(
        self, name: str, codec: CompressionCodec, original: bytes, load: Callable[[LazyGroup], list[Node]]
    ) -> None:
        super().__init__(name, f"records, {codec.type_name}", original, load, see_through=True)
        self.codec = codec
        self.changed = False

    def render(self) -> bytes:
        """The bytes as they are now."""
        if self.changed:
            self.original = compress(self.codec, super().render())
            self.changed = False
        return self.original

    def content(self) -> bytes:
        """The bytes without the promises before them."""
        return self.render()

    def add_tail(self, data: bytes) -> None:
        """Put bytes at the end."""
        self._become(self.render() + data)

    def drop_tail(self, count: int) -> None:
        """Remove that many bytes from the end."""
        data = self.render()
        self._become(data[: max(0, len(data) - count)])

    def _become(self, compressed: bytes) -> None:
        """Be these compressed bytes, whatever they would decompress to."""
        self.original = compressed
        self.children = []
        self.unread = "its compressed bytes were changed"


def touch(node: Node, reframe: Reframe) -> None:
    """Ask every promise before a changed node, in all groups around it, to be computed anew."""
    while node.parent is not None:
        group = node.parent
        for child in group.children:
            if child is node:
                break
            if isinstance(child, Framing) and child.measure is not None and getattr(reframe, child.level):
                child.dirty = True
        if isinstance(group, CompressedSection):
            group.changed = True
        node = group


def touch_own_size(node: Node, reframe: Reframe) -> None:
    """Ask the promises that a group makes about its own bytes to be computed anew: a batch's, a record's, a tag's."""
    if isinstance(node, Group):
        for child in node.children:
            if isinstance(child, Framing) and child.measure is not None and getattr(reframe, child.level):
                child.dirty = True


def touch_count(group: Group, reframe: Reframe) -> None:
    """Ask the count of a group's elements to be computed anew."""
    beside = group.parent.children if group.parent is not None else []
    for child in (*group.children, *beside):
        if isinstance(child, Framing) and child.counted is group and getattr(reframe, child.level):
            child.dirty = True


def ancestors(node: Node) -> Iterator[Group]:
    """The groups around a node, the innermost first."""
    while node.parent is not None:
        yield node.parent
        node = node.parent


def path_of(node: Node) -> str:
    """The path under which a node is found now; empty for the whole."""
    group = node.parent
    if group is None:
        return ""
    if node.element:
        index = next(i for i, child in enumerate(group.elements()) if child is node)
        return f"{joined(_prefix(group), node.series)}[{index}]"
    return joined(path_of(group) if isinstance(node, Framing) else _prefix(group), node.name)


def _prefix(group: Group) -> str:
    """What the paths of a group's fields begin with."""
    return _prefix(group.parent) if group.see_through and group.parent is not None else path_of(group)


def joined(prefix: str, name: str) -> str:
    """A path with one more segment; either may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name
