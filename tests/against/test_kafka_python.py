"""The same bytes and values as kafka-python's codec, for every message and version of ours that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs import strategies
from protocol_specs.json_form import from_json, to_json
from protocol_specs.message import Kind, Struct
from protocol_specs.messages.api_versions import ApiVersionsResponse
from tests.against import kafka_python_peer
from tests.protocol_specs.every_message import MESSAGES

if TYPE_CHECKING:
    from protocol_specs.message import Message

API_MESSAGES = [(cls, version) for cls, version in MESSAGES if cls.KIND is not Kind.HEADER]
SHARED = [which for which in API_MESSAGES if kafka_python_peer.peer_class(*which) is not None]

for_shared = pytest.mark.parametrize(
    ("cls", "version"), [pytest.param(cls, version, id=f"{cls.__name__} v{version}") for cls, version in SHARED]
)


def values(cls: type[Message]) -> dict[str, st.SearchStrategy[object]] | None:
    """Values in place of those that kafka-python is known to read otherwise."""
    if cls is ApiVersionsResponse:
        # Its reader takes every answer with an error for version 0, whatever version was asked for.
        return {"error_code": st.just(0)}
    return None


def test_it_has_every_version_of_every_message() -> None:
    assert [which for which in API_MESSAGES if which not in SHARED] == []


@for_shared
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_it_reads_and_writes_our_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(strategies.message(cls, version, unknown_tags=False, values=values(cls)))
    body = message.encode(version)
    assert kafka_python_peer.decode(cls, version, body) == message
    theirs = kafka_python_peer.encode(message, version)
    assert cls.decode(version, theirs) == message
    assert theirs == body


def without_tags_inside_tags(value: Any, version: int, *, inside: bool = False) -> Any:
    """kafka-python 3.0.12 asserts that a struct in a tagged field has no tags of its own: none are sent to it."""
    if isinstance(value, list):
        return [without_tags_inside_tags(item, version, inside=inside) for item in value]
    if isinstance(value, Struct):
        if inside:
            value.unknown_tags = []
        for f in value.FIELDS:
            without_tags_inside_tags(getattr(value, f.name), version, inside=inside or version in f.tagged)
    return value


@for_shared
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_it_passes_over_tags_that_it_does_not_know(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = without_tags_inside_tags(data.draw(strategies.message(cls, version, values=values(cls))), version)
    without_them = from_json(cls, version, to_json(message, version))
    assert kafka_python_peer.decode(cls, version, message.encode(version)) == without_them
