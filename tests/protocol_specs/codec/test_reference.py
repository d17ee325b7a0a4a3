"""The generated codec against the construct reference: two readings of one declaration that share no code."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import construct
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol_specs.codec.struct_builder import plain, to_reference
from protocol_specs.errors import MessageDecodeError, MessageEncodeError
from protocol_specs.fuzzing import strategies
from tests.protocol_specs.every_message import any_message, for_every_message

if TYPE_CHECKING:
    from protocol_specs.message import Message


@for_every_message
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_both_write_the_same_bytes_and_read_the_same_values(
    cls: type[Message], version: int, data: st.DataObject
) -> None:
    message = data.draw(strategies.message(cls, version))
    values = to_reference(message, version, flexible=cls.is_flexible(version))
    body = message.encode(version)
    assert cls.struct(version).build(values) == body
    assert plain(cls.struct(version).parse(body)) == values
    assert cls.decode(version, body) == message


def assert_same_reading(cls: type[Message], version: int, data: bytes) -> None:
    """The reference reads and builds the same message again, apart from tags at their default on the wire.

    Both are written again, because not-a-number equals nothing; a tag that came twice cannot be written.
    """
    message = cls.decode(version, data)
    again = cls.decode(version, cls.struct(version).build(cls.struct(version).parse(data)))
    with contextlib.suppress(MessageEncodeError):
        assert again.encode(version) == message.encode(version)


@for_every_message
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_both_make_the_same_of_broken_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    broken = data.draw(strategies.nearly_valid(cls, version))
    if broken.refused:
        with pytest.raises(construct.ConstructError):
            cls.struct(version).parse(broken.data)
    else:
        assert_same_reading(cls, version, broken.data)


WORDS = st.sampled_from(
    [b"\0", b"\1", b"\2", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\0\0\0\1", b"\xff\xff\xff\xff\x0f"]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(which=any_message(), data=st.lists(WORDS | st.binary(max_size=4), max_size=20).map(b"".join))
def test_both_take_the_same_of_any_bytes(which: tuple[type[Message], int], data: bytes) -> None:
    cls, version = which
    try:
        cls.decode(version, data)
    except MessageDecodeError:
        with pytest.raises(construct.ConstructError):
            cls.struct(version).parse(data)
        return
    assert_same_reading(cls, version, data)
