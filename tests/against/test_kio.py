"""The same bytes and values as kio's codec, for every message and version of ours that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.fuzzing import strategies
from tests.against import kio_peer
from tests.against.peer_limits import KIO
from tests.against.peers import for_shared, values

if TYPE_CHECKING:
    from protocol_specs.message import Message


@for_shared(KIO)
@settings(max_examples=4)
@given(data=st.data())
def test_it_reads_and_writes_our_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(strategies.message(cls, version, unknown_tags=False, values=values(KIO, cls, version)))
    body = message.encode(version)
    assert kio_peer.decode(cls, version, body) == message
    theirs = kio_peer.encode(message, version)
    assert cls.decode(version, theirs) == message
    assert theirs == body
