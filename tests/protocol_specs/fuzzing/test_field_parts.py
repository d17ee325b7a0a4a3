"""Field trees and changes by field for every declared message and version, and for every record set of Java."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.codec.annotate import annotate
from protocol_specs.errors import MessageDecodeError
from protocol_specs.fields import Array
from protocol_specs.framing import framed
from protocol_specs.fuzzing import (
    Mutation,
    MutationError,
    frame_paths,
    message_paths,
    mutate_frame,
    mutate_message,
    mutate_record_set,
    strategies,
)
from protocol_specs.fuzzing.field_parts import message_map, record_set_map
from protocol_specs.fuzzing.field_paths import every_path, locate
from protocol_specs.message import Kind
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from protocol_specs.records.record_spans import annotate_record_set
from tests.protocol_specs.every_message import MESSAGES, any_message

if TYPE_CHECKING:
    from protocol_specs.fuzzing.field_map import FieldMap
    from protocol_specs.message import Message

DATA = Path(__file__).parents[2] / "data"


def lines_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def drawn_message(draw: st.DrawFn) -> tuple[type[Message], int, Message]:
    cls, version = draw(any_message())
    return cls, version, draw(strategies.message(cls, version))


messages = st.composite(drawn_message)()


def assert_parts_cover_their_parent(fields: FieldMap) -> None:
    """Parts without inner parts are the bytes in wire order, without gaps; inner parts are within their parent."""
    at = 0
    for part in fields.parts:
        assert part.parent is None or part.parent.start <= part.start <= part.stop <= part.parent.stop, part.path
        if not fields.children(part) and part.parent is not None:
            assert part.start == at, part.path
            at = part.stop
        if part.inside is not None:
            assert_parts_cover_their_parent(part.inside)
    assert at == fields.root.stop or len(fields.parts) == 1


def test_the_parts_of_every_vector_are_its_bytes_and_are_found_by_their_paths() -> None:
    for vector in lines_of("message_vectors.jsonl.gz"):
        cls, data = registry.find(vector["api"], Kind(vector["kind"])), bytes.fromhex(vector["hex"])
        fields = message_map(cls, vector["version"], data)
        assert fields.root.stop == len(data), vector
        assert_parts_cover_their_parent(fields)
        for path in every_path(fields):
            assert locate(fields, path)[-1][1].path == path or ".record" in path, (vector, path)


def test_the_parts_of_every_record_set_are_its_bytes_and_have_every_annotated_path() -> None:
    for vector in lines_of("record_batches.jsonl.gz"):
        data = bytes.fromhex(vector["hex"])
        fields = record_set_map(data)
        assert [path for path in every_path(fields) if path.endswith("rest")] == [], vector["case"]
        assert_parts_cover_their_parent(fields)
        for span in annotate_record_set(data, path="").spans:
            in_a_control_record = span.within.endswith((".record[0].key", ".record[0].value"))
            if not in_a_control_record:
                part = locate(fields, span.path.removeprefix("."))[-1][1]
                assert (part.start, part.unread) == (span.start, ""), (vector["case"], span.path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages)
def test_every_annotated_field_has_a_part(drawn: tuple[type[Message], int, Message]) -> None:
    cls, version, message = drawn
    data = message.encode(version)
    fields = message_map(cls, version, data)
    assert_parts_cover_their_parent(fields)
    for span in annotate(cls, version, data):
        assert locate(fields, span.path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages, st.data())
def test_repeating_an_element_is_what_encoding_it_twice_is(
    drawn: tuple[type[Message], int, Message], data: st.DataObject
) -> None:
    cls, version, message = drawn
    arrays = [
        f.name
        for f in cls.FIELDS
        if isinstance(f.type, Array) and version in f.versions and version not in f.tagged and getattr(message, f.name)
    ]
    if not arrays:
        return
    body = message.encode(version)
    name = data.draw(st.sampled_from(arrays))
    elements = getattr(message, name)
    index = data.draw(st.integers(0, len(elements) - 1))
    twice = mutate_message(cls, version, body, [Mutation.duplicate(f"{name}[{index}]")])
    setattr(message, name, [*elements[: index + 1], *elements[index:]])
    assert twice == message.encode(version)
    assert mutate_message(cls, version, twice, [Mutation.delete(f"{name}[{index}]")]) == body


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages, st.data())
def test_setting_a_field_is_what_encoding_its_value_is(
    drawn: tuple[type[Message], int, Message], data: st.DataObject
) -> None:
    cls, version, message = drawn
    other = data.draw(strategies.message(cls, version))
    fields = [f.name for f in cls.FIELDS if version in f.versions and version not in f.tagged]
    if not fields:
        return
    name = data.draw(st.sampled_from(fields))
    changed = mutate_message(cls, version, message.encode(version), [Mutation.set(name, getattr(other, name))])
    setattr(message, name, getattr(other, name))
    assert changed == message.encode(version)


OPERATIONS = (
    Mutation.set,
    lambda path, _: Mutation.set(path, None),
    lambda path, amount: Mutation.set(path, b"\xff" * amount),
    lambda path, amount: Mutation.raw(path, b"\x80" * amount),
    lambda path, amount: Mutation.lengthen(path, by=amount),
    lambda path, amount: Mutation.shorten(path, by=amount),
    lambda path, amount: Mutation.cut(path, offset=amount),
    lambda path, amount: Mutation.cut(path, offset=amount, of=path.rpartition(".")[0]),
    lambda path, amount: Mutation.duplicate(path, times=amount),
    lambda path, _: Mutation.delete(path),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages, st.data())
def test_any_changes_anywhere_give_bytes_or_raise(
    drawn: tuple[type[Message], int, Message], data: st.DataObject
) -> None:
    cls, version, message = drawn
    body = message.encode(version)
    paths = message_paths(cls, version, body)
    if not paths:
        return
    mutations = [
        data.draw(st.sampled_from(OPERATIONS))(data.draw(st.sampled_from(paths)), data.draw(st.integers(0, 300)))
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    with contextlib.suppress(MutationError, MessageDecodeError):
        cls.decode(version, mutate_message(cls, version, body, mutations, reframe=data.draw(st.booleans())))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.record_batches(max_size=4).map(lambda drawn: drawn[0]), st.data())
def test_any_changes_of_a_record_set_give_bytes_or_raise(batch: bytes, data: st.DataObject) -> None:
    paths = list(every_path(record_set_map(batch)))
    path = data.draw(st.sampled_from(paths))
    mutation = data.draw(st.sampled_from(OPERATIONS))(path, data.draw(st.integers(0, 40)))
    with contextlib.suppress(MutationError):
        annotate_record_set(mutate_record_set(batch, [mutation], reframe=data.draw(st.booleans())))


@pytest.mark.parametrize("kind", [Kind.REQUEST, Kind.RESPONSE])
def test_every_frame_has_a_tree_with_its_size_and_header_beside_the_fields(kind: Kind) -> None:
    for cls, version in MESSAGES:
        if cls.KIND is not kind:
            continue
        assert {"frame_size", "header"}.isdisjoint(f.name for f in cls.FIELDS)
        if kind is Kind.REQUEST:
            header_version = request_header_version(cls, version)
            header = RequestHeader(request_api_key=cls.API_KEY, request_api_version=version).encode(header_version)
        else:
            header = ResponseHeader(correlation_id=1).encode(response_header_version(cls, version))
        frame = framed(header + cls().encode(version))
        assert mutate_frame(frame, cls.API_KEY, kind, version, []) == frame
        assert "header.correlation_id" in frame_paths(frame, cls.API_KEY, kind, version)
        changed = mutate_frame(frame, cls.API_KEY, kind, version, [Mutation.set("header.correlation_id", 9)])
        assert changed[:4] == frame[:4]
        assert len(changed) == len(frame)
