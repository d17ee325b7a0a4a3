"""The message vectors made by Kafka's own Java classes, through both codecs, in both directions."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs import registry
from protocol_specs.codec.annotate import annotate
from protocol_specs.codec.struct_builder import plain, to_reference
from protocol_specs.json_form import from_json, to_json
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from protocol_specs.message import Message

VECTORS = Path(__file__).parents[1] / "data" / "message_vectors.jsonl.gz"


@cache
def vectors() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def with_declarations() -> list[tuple[type[Message], dict[str, Any]]]:
    return [(registry.find(v["api"], Kind(v["kind"])), v) for v in vectors()]


def unknown_tags(vector: dict[str, Any]) -> list[tuple[int, bytes]]:
    return [(tag, bytes.fromhex(data)) for tag, data in vector.get("unknown_tags", [])]


def test_every_vector_decodes_to_its_json_value() -> None:
    for cls, vector in with_declarations():
        message, end = cls.decode_from(vector["version"], bytes.fromhex(vector["hex"]), 0)
        assert end == len(vector["hex"]) // 2, vector
        assert to_json(message, vector["version"]) == vector["json"], vector
        assert list(message.unknown_tags) == unknown_tags(vector), vector


def test_every_vector_encodes_to_its_bytes() -> None:
    for cls, vector in with_declarations():
        message = from_json(cls, vector["version"], vector["json"])
        message.unknown_tags = unknown_tags(vector)
        assert message.encode(vector["version"]).hex() == vector["hex"], vector


def test_every_vector_agrees_with_the_construct_reference() -> None:
    for cls, vector in with_declarations():
        version, data = vector["version"], bytes.fromhex(vector["hex"])
        message = cls.decode(version, data)
        values = to_reference(message, version, flexible=cls.is_flexible(version))
        assert plain(cls.struct(version).parse(data)) == values, vector
        assert cls.struct(version).build(values) == data, vector


def test_every_vector_is_annotated_without_gaps() -> None:
    for cls, vector in with_declarations():
        data = bytes.fromhex(vector["hex"])
        position = 0
        for span in annotate(cls, vector["version"], data):
            assert span.start == position, (vector, span)
            position = span.stop
        assert position == len(data), vector


def test_every_declared_version_has_a_vector_and_every_vector_a_declaration() -> None:
    proven = {(cls, v["version"]) for cls, v in with_declarations()}
    assert len(vectors()) == 2541
    assert [(cls.__name__, v) for cls in registry.every_message() for v in cls.VERSIONS if (cls, v) not in proven] == []


@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_decoded_message_equals_itself_encoded_and_decoded_again(kind: str) -> None:
    for cls, vector in with_declarations():
        if vector["kind"] == kind:
            message = cls.decode(vector["version"], bytes.fromhex(vector["hex"]))
            assert cls.decode(vector["version"], message.encode(vector["version"])) == message
