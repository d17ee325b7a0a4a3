"""Encoding refuses what a version cannot carry, by field name; decoding hands back what follows: for every message."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.errors import MessageDecodeError, MessageEncodeError
from protocol_specs.fields import Array, FieldType, FixedType, Records, SizedType, String
from protocol_specs.fuzzing import strategies
from tests.protocol_specs.every_message import MESSAGES, any_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Field, Message, Struct

STRUCTS_INSIDE_MAX = 6


def struct_of(field_type: FieldType | type[Struct]) -> type[Struct] | None:
    inner = field_type.element if isinstance(field_type, Array) else field_type
    return None if isinstance(inner, FieldType) else inner


def fields_with_paths(cls: type[Struct], version: int, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Every field whose struct the version carries, with its path: arrays by their first element."""
    for f in cls.FIELDS:
        yield f"{prefix}{f.name}", f
        inner = struct_of(f.type)
        if inner is not None and version in f.versions:
            index = "[0]" if isinstance(f.type, Array) else ""
            yield from fields_with_paths(inner, version, f"{prefix}{f.name}{index}.")


S = TypeVar("S", bound="Struct")


def encodable(cls: type[S], version: int) -> S:
    """A struct at its defaults, where those can be written: the default of records is null, even where null is not."""
    made = cls()
    for f in cls.FIELDS:
        if f.type is Records and version in f.versions and version not in f.nullable:
            setattr(made, f.name, b"")
    return made


def message_with(cls: type[Message], version: int, path: str, value: object) -> Message:
    """A message at its defaults, but for one value and the structs around it."""
    message = encodable(cls, version)
    target: Any = message
    *outer, name = path.split(".")
    for segment in outer:
        field_name = segment.removesuffix("[0]")
        f = next(f for f in type(target).FIELDS if f.name == field_name)
        inner = struct_of(f.type)
        assert inner is not None
        made = encodable(inner, version)
        setattr(target, field_name, [made] if segment.endswith("[0]") else made)
        target = made
    setattr(target, name, value)
    return message


def other_than_default(f: Field) -> object:
    inner = struct_of(f.type)
    if isinstance(f.type, Array):
        element = f.type.element
        return [inner() if inner is not None else element.zero]  # type: ignore[union-attr]
    if inner is not None:
        changed = copy.copy(inner())
        first = inner.FIELDS[0]
        setattr(changed, first.name, other_than_default(first))
        return changed
    if isinstance(f.type, SizedType):
        text_or_bytes: str | bytes = "other" if f.type is String else b"other"
        return text_or_bytes
    assert isinstance(f.type, FixedType)
    if f.type.size == 16:
        return b"u" * 16
    return not f.default if f.type.name == "bool" else 7 if f.default != 7 else 8


def test_a_value_of_another_version_is_refused_by_its_path_unless_it_is_ignorable() -> None:
    tried = 0
    for cls, version in MESSAGES:
        for path, f in fields_with_paths(cls, version):
            if version in f.versions:
                continue
            tried += 1
            message = message_with(cls, version, path, other_than_default(f))
            if f.ignorable:
                assert message.encode(version) == message_with(cls, version, path, f.new_default()).encode(version)
                continue
            with pytest.raises(MessageEncodeError) as raised:
                message.encode(version)
            assert (raised.value.path, raised.value.version) == (path, version), (cls, path)
    assert tried > 1000


def test_null_is_refused_by_its_path_where_a_version_does_not_allow_it() -> None:
    for cls, version in MESSAGES:
        for path, f in fields_with_paths(cls, version):
            if version not in f.versions or version in f.nullable:
                continue
            with pytest.raises(MessageEncodeError) as raised:
                message_with(cls, version, path, None).encode(version)
            assert raised.value.path == path, cls


def test_a_number_out_of_its_range_is_refused_by_its_path() -> None:
    for cls, version in MESSAGES:
        for path, f in fields_with_paths(cls, version):
            if version not in f.versions or not isinstance(f.type, FixedType):
                continue
            if f.type.name in {"bool", "float64", "uuid"}:
                continue
            with pytest.raises(MessageEncodeError) as raised:
                message_with(cls, version, path, 2**64).encode(version)
            assert raised.value.path == path, cls


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_what_stands_before_and_after_a_message_is_left_to_the_caller(
    data: st.DataObject, before: bytes, after: bytes
) -> None:
    cls, version = data.draw(any_message())
    message = data.draw(strategies.message(cls, version))
    body = message.encode(version)
    found, end = cls.decode_from(version, before + body + after, len(before))
    assert (found, end) == (message, len(before) + len(body))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_message_that_ends_early_is_refused_with_a_place_inside_of_it(data: st.DataObject) -> None:
    cls, version = data.draw(any_message())
    body = data.draw(strategies.message(cls, version)).encode(version)
    if not body:
        return
    stop = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(MessageDecodeError) as raised:
        cls.decode(version, body[:stop])
    assert 0 <= raised.value.position <= stop
    assert raised.value.path


def test_structs_nest_only_as_deep_as_they_are_declared() -> None:
    def depth(cls: type[Struct], seen: tuple[type[Struct], ...]) -> int:
        assert cls not in seen, "a struct that contains itself could nest to any depth"
        inner = [struct_of(f.type) for f in cls.FIELDS]
        return 1 + max((depth(one, (*seen, cls)) for one in inner if one is not None), default=0)

    assert max(depth(cls, ()) for cls in registry.every_message()) <= STRUCTS_INSIDE_MAX
