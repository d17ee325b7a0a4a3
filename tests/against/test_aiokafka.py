"""The same bytes and values as aiokafka's codec, for every message and version of ours that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.fuzzing import strategies
from tests.against import aiokafka_peer
from tests.against.peer_limits import AIOKAFKA
from tests.against.peers import for_shared

if TYPE_CHECKING:
    from protocol_specs.message import Message


@for_shared(AIOKAFKA)
@settings(max_examples=3)
@given(data=st.data())
def test_it_reads_and_writes_our_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(strategies.message(cls, version, unknown_tags=False))
    body = message.encode(version)
    assert aiokafka_peer.decode(cls, version, body) == message
    theirs = aiokafka_peer.encode(message, version)
    assert cls.decode(version, theirs) == message
    assert theirs == body


@for_shared(AIOKAFKA, flexible=True)
@settings(max_examples=5)
@given(data=st.data())
def test_it_keeps_tags_that_it_does_not_know(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(strategies.message(cls, version))
    assert aiokafka_peer.decode(cls, version, message.encode(version)) == message
