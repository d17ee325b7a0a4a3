"""A message's bytes as a tree of its declared fields, for any message and version.

The bytes are read by the generated codec first, which refuses what does not fit; the tree then keeps them as they are.
A field's value is built by the construct reference when it is set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.runtime import INT32_MAX
from protocol_specs.codec.struct_builder import field_reference, primitive, struct_reference, to_reference
from protocol_specs.fields import Array, FieldType, FixedType, Records, SizedType
from protocol_specs.message import Struct
from protocol_specs.mutation.field_tree import Framing, Group, Leaf, MutationError, Node
from protocol_specs.mutation.record_tree import Budget, fixed, record_set_tree, variable
from protocol_specs.mutation.sized_nodes import content_leaf, counted, raw_bytes, sized
from protocol_specs.mutation.wire_lengths import COMPACT, INT16, INT32, UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.message import Field, Message

NODES_MAX: Final = 1_000_000
"""How many fields a message is taken apart to."""


def message_tree(cls: type[Message], version: int, data: bytes, position: int, name: str = "") -> tuple[Group, int]:
    """The tree of the message at a position, and the position after it. Raises MessageDecodeError."""
    _, stop = cls.decode_from(version, data, position)
    reader = _Reader(version, data, position, flexible=cls.is_flexible(version))
    tree = reader.struct(cls, name)
    assert reader.position == stop
    return tree, stop


class _Reader:
    def __init__(self, version: int, data: bytes, position: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.data = data
        self.position = position
        self.budget = Budget()
        self.nodes_left = NODES_MAX

    def again(self, data: bytes) -> _Reader:
        return _Reader(self.version, data, 0, flexible=self.flexible)

    def take(self, stop: int) -> bytes:
        start, self.position = self.position, stop
        return self.data[start:stop]

    def struct(self, cls: type[Struct], name: str) -> Group:
        children: list[Node] = [
            self.field(f) for f in cls.FIELDS if self.version in f.versions and self.version not in f.tagged
        ]
        if self.flexible:
            children.append(self.tags(cls))
        reference = struct_reference(cls, self.version, flexible=self.flexible)
        return Group(
            name,
            cls.__name__,
            children,
            lambda value: self.built(reference, value, partial(_Reader.struct, cls=cls, name=name)),
        )

    def built(self, reference: Any, value: object, read: Callable[[_Reader], Node]) -> Node:
        """The node of a value, by way of the reference's bytes."""
        return read(self.again(reference.build(self.plain(value))))

    def plain(self, value: object) -> Any:
        if isinstance(value, Struct):
            return to_reference(value, self.version, flexible=self.flexible)
        return [self.plain(item) for item in value] if isinstance(value, list | tuple) else value

    def field(self, f: Field) -> Node:
        return self.value(f, f.type, f.name, flexible=self.flexible and f.flexible)

    def value(self, f: Field | None, field_type: FieldType | type[Struct], name: str, *, flexible: bool) -> Node:
        self.nodes_left -= 1
        if self.nodes_left < 0:
            raise MutationError(name, f"the message has more than NODES_MAX={NODES_MAX} fields")
        if isinstance(field_type, FixedType):
            return self.primitive(field_type, name)
        if isinstance(field_type, SizedType):
            return self.sized(field_type, name, flexible=flexible)
        if isinstance(field_type, Array):
            assert f is not None
            return self.array(f, field_type, name, flexible=flexible)
        assert isinstance(field_type, type)
        if f is not None and self.version in f.nullable:
            return self.optional(f, field_type, name)
        return self.struct(field_type, name)

    def primitive(self, field_type: FixedType, name: str) -> Leaf:
        reference = primitive(field_type, flexible=self.flexible, nullable=False)

        def build(value: object) -> Leaf:
            return Leaf(name, field_type.name, reference.build(value), build)

        return Leaf(name, field_type.name, self.take(self.position + field_type.size), build)

    def sized(self, field_type: SizedType, name: str, *, flexible: bool) -> Group:
        form = COMPACT if flexible else INT16 if field_type.length_format == "h" else INT32
        size, start = form.read(self.data, self.position)
        prefix, content = self.take(start), self.take(start + max(0, size))
        hold = self.record_set if field_type is Records else content_leaf
        group = sized(name, field_type.name, form, prefix, None if size < 0 else hold(content))
        group.build = lambda value: hold(raw_bytes(value))
        return group

    def record_set(self, data: bytes) -> Group:
        return record_set_tree(data, self.budget)

    def array(self, f: Field, field_type: Array, name: str, *, flexible: bool) -> Group:
        form = COMPACT if flexible else INT32
        count, start = form.read(self.data, self.position)
        prefix = self.take(start)
        elements = None
        if count >= 0:
            elements = [self.value(None, field_type.element, "", flexible=self.flexible) for _ in range(count)]
        reference = field_reference(f, self.version, flexible=self.flexible)
        read = partial(_Reader.array, f=f, field_type=field_type, name=name, flexible=flexible)
        return counted(name, field_type.name, form, prefix, elements, lambda value: self.built(reference, value, read))

    def optional(self, f: Field, cls: type[Struct], name: str) -> Group:
        presence: Leaf
        if self.version in f.tagged:
            number, stop = UVARINT.read(self.data, self.position)
            present, presence = number > 0, variable("presence", UVARINT, self.take(stop))
        else:
            present = self.data[self.position] < 0x80
            presence = fixed("presence", "int8", "b", self.take(self.position + 1))
        children: list[Node] = [presence]
        if present:
            held = self.struct(cls, "")
            held.see_through = True
            children.append(held)
        reference = field_reference(f, self.version, flexible=self.flexible)
        read = partial(_Reader.optional, f=f, cls=cls, name=name)
        return Group(name, cls.__name__, children, lambda value: self.built(reference, value, read))

    def tags(self, cls: type[Struct]) -> Group:
        """The tag section: unknown tags are `unknown_tags[i]`, known ones are found by their name in the struct."""
        known: dict[int, Field] = {f.tag: f for f in cls.FIELDS if f.tag is not None and self.version in f.tagged}
        start = self.position
        count, stop = UVARINT.read(self.data, start)
        promise = Framing("count", "uvarint", self.take(stop), level="counts", encode=UVARINT.write, measure=None)
        # 2**31 is no count to Kafka, but negative: see codec/runtime.
        tags = [self.tag(known) for _ in range(count if count <= INT32_MAX else 0)]
        section = Group("unknown_tags", "tags", [promise, *tags], see_through=True)
        promise.counted = section
        section.holds = ("unknown_tags",)
        section.optional = {f.name: (number, partial(self.new_tag, f)) for number, f in known.items()}
        return section

    def tag(self, known: dict[int, Field]) -> Group:
        start = self.position
        number, after_number = UVARINT.read(self.data, start)
        tag = variable("tag", UVARINT, self.take(after_number))
        size, after_size = UVARINT.read(self.data, after_number)
        promise = Framing("size", "uvarint", self.take(after_size), level="tag_sizes", encode=UVARINT.write)
        f = known.get(number & 0xFFFFFFFF)
        if f is None:
            data = content_leaf(self.take(after_size + size), "data")
            group = Group("", "tag", [tag, promise, data], lambda value: _unknown_tag(number, raw_bytes(value)))
            group.as_element("unknown_tags")
            return group
        held = self.field(f)
        return self.known_tag(f, tag, promise, held)

    def known_tag(self, f: Field, tag: Leaf, promise: Framing, held: Node) -> Group:
        held.name = "value"
        if isinstance(held, Group):
            held.see_through = True
        group = Group(f.name, "tag", [tag, promise, held], partial(self.new_tag, f))
        group.counts = True
        return group

    def new_tag(self, f: Field, value: object) -> Group:
        """A tagged field with a value."""
        assert f.tag is not None
        data = field_reference(f, self.version, flexible=True).build(self.plain(value))
        whole = UVARINT.write(f.tag) + UVARINT.write(len(data)) + data
        return self.again(whole).tag({f.tag: f})


def _unknown_tag(number: int, data: bytes) -> Group:
    number_bytes, size = UVARINT.write(number), UVARINT.write(len(data))
    promise = Framing("size", "uvarint", size, level="tag_sizes", encode=UVARINT.write)
    children: list[Node] = [
        variable("tag", UVARINT, number_bytes),
        promise,
        content_leaf(data, "data"),
    ]
    group = Group("", "tag", children, lambda value: _unknown_tag(number, raw_bytes(value)))
    group.as_element("unknown_tags")
    return group
