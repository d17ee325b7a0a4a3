"""The same bytes and values as kio's codec, for every message and version of ours that it has.

kio has what brokers 4.0 and later have; older versions are covered by kafka-python and by Kafka's own vectors. Known
fault of kio 0.6.5: it raises KeyError at a tag that it does not know, which KIP-482 says to pass over, so no unknown
tags are drawn here; those too are covered by kafka-python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs import strategies
from protocol_specs.message import Kind
from tests.against import kio_peer
from tests.protocol_specs.every_message import MESSAGES

if TYPE_CHECKING:
    from protocol_specs.message import Message

API_MESSAGES = [(cls, version) for cls, version in MESSAGES if cls.KIND is not Kind.HEADER]
SHARED = [which for which in API_MESSAGES if kio_peer.peer_class(*which) is not None]

# Versions that kio leaves out, because no broker from 4.0 on answers them.
LACKING = {
    "ProduceRequest": [0, 1, 2],
    "ProduceResponse": [0, 1, 2],
    "FetchRequest": [0, 1, 2, 3],
    "FetchResponse": [0, 1, 2, 3],
    "ListOffsetsRequest": [0],
    "ListOffsetsResponse": [0],
    "CreateTopicsRequest": [0, 1],
    "CreateTopicsResponse": [0, 1],
    "DeleteTopicsRequest": [0],
    "DeleteTopicsResponse": [0],
    "OffsetForLeaderEpochRequest": [0, 1],
    "OffsetForLeaderEpochResponse": [0, 1],
    "DescribeConfigsRequest": [0],
    "DescribeConfigsResponse": [0],
}

# Where kio's types hold less than Kafka's do: an error code must have a name, and a point in time is a
# datetime of whole seconds from 1970 to 9999, or none for -1.
NARROWER = {
    "error_code": st.sampled_from([code.value for code in kio_peer.ErrorCode]),
    "datetime_i64": st.just(-1) | st.integers(0, 253_402_300_799).map(lambda seconds: 1000 * seconds),
}

for_shared = pytest.mark.parametrize(
    ("cls", "version"), [pytest.param(cls, version, id=f"{cls.__name__} v{version}") for cls, version in SHARED]
)


def values(cls: type[Message], version: int) -> dict[str, st.SearchStrategy[int]]:
    """Values for the fields whose type is narrower in kio."""
    typed = kio_peer.typed_fields(cls, kio_peer.peer_class(cls, version), version)
    return {path: NARROWER[kio_type] for path, kio_type in typed if kio_type in NARROWER}


def test_it_lacks_what_brokers_no_longer_answer_and_nothing_else() -> None:
    lacking: dict[str, list[int]] = {}
    for cls, version in API_MESSAGES:
        if (cls, version) not in SHARED:
            lacking.setdefault(cls.__name__, []).append(version)
    assert lacking == LACKING


@for_shared
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_it_reads_and_writes_our_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    given_values = values(cls, version)
    message = data.draw(strategies.message(cls, version, unknown_tags=False, values=given_values))
    body = message.encode(version)
    assert kio_peer.decode(cls, version, body) == message
    theirs = kio_peer.encode(message, version)
    assert cls.decode(version, theirs) == message
    assert theirs == body
