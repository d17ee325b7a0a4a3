"""The same bytes and values as kafka-python's codec, for every message and version of ours that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.fuzzing import strategies
from protocol_specs.json_form import from_json, to_json
from protocol_specs.message import Struct
from tests.against import kafka_python_peer
from tests.against.peer_limits import KAFKA_PYTHON
from tests.against.peers import for_shared, values

if TYPE_CHECKING:
    from protocol_specs.message import Message


@for_shared(KAFKA_PYTHON)
@settings(max_examples=4)
@given(data=st.data())
def test_it_reads_and_writes_our_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    narrower = values(KAFKA_PYTHON, cls, version)
    message = data.draw(strategies.message(cls, version, unknown_tags=False, values=narrower))
    body = message.encode(version)
    assert kafka_python_peer.decode(cls, version, body) == message
    theirs = kafka_python_peer.encode(message, version)
    assert cls.decode(version, theirs) == message
    assert theirs == body


def without_tags_inside_tags(value: Any, version: int, *, inside: bool = False) -> Any:
    """The versions in which no struct in a tagged field has tags of its own: see TAG_LIMITS."""
    if isinstance(value, list):
        return [without_tags_inside_tags(item, version, inside=inside) for item in value]
    if isinstance(value, Struct):
        if inside:
            value.unknown_tags = []
        for f in value.FIELDS:
            without_tags_inside_tags(getattr(value, f.name), version, inside=inside or version in f.tagged)
    return value


@for_shared(KAFKA_PYTHON, flexible=True)
@settings(max_examples=2)
@given(data=st.data())
def test_it_passes_over_tags_that_it_does_not_know(cls: type[Message], version: int, data: st.DataObject) -> None:
    drawn = data.draw(strategies.message(cls, version, values=values(KAFKA_PYTHON, cls, version)))
    message = without_tags_inside_tags(drawn, version)
    without_them = from_json(cls, version, to_json(message, version))
    assert kafka_python_peer.decode(cls, version, message.encode(version)) == without_them
