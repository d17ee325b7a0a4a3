"""The cost of hostile bytes: one kind of exception, memory and steps bounded by their length."""

from __future__ import annotations

import contextlib
import struct
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol_specs.errors import MessageDecodeError
from protocol_specs.fuzzing import strategies
from protocol_specs.messages.api_versions import ApiVersionsResponse
from tests.protocol_specs.every_message import any_message

if TYPE_CHECKING:
    from types import FrameType

    from protocol_specs.message import Message

BYTES_OF_MEMORY_PER_BYTE = 400
BYTES_OF_MEMORY_FOR_NOTHING = 30_000
LINES_PER_BYTE = 50
LINES_FOR_NOTHING = 400

COUNTS = st.sampled_from(
    [b"\x7f\xff\xff\xff", b"\x00\x00\x00\x40", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08", b"\x7f"]
)
BYTES = st.lists(st.binary(max_size=12) | COUNTS | st.integers(1, 3000).map(bytes), max_size=12).map(b"".join)


def hostile() -> st.SearchStrategy[tuple[type[Message], int, bytes]]:
    """Bytes that are nearly a message, and bytes that are none."""

    def drawn(which: tuple[type[Message], int]) -> st.SearchStrategy[tuple[type[Message], int, bytes]]:
        data = strategies.nearly_valid(*which).map(lambda broken: broken.data) | BYTES
        return st.tuples(st.just(which[0]), st.just(which[1]), data)

    return any_message().flatmap(drawn)


def decode(cls: type[Message], version: int, data: bytes) -> Message | None:
    with contextlib.suppress(MessageDecodeError):
        return cls.decode(version, data)
    return None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile())
def test_a_buffer_of_any_kind_is_read_the_same(drawn: tuple[type[Message], int, bytes]) -> None:
    cls, version, data = drawn
    assert decode(cls, version, memoryview(data)) == decode(cls, version, data)  # type: ignore[arg-type]
    shifted = b"\x7f" * 3 + data
    try:
        message, end = cls.decode_from(version, shifted, 3)
    except MessageDecodeError as error:
        assert 3 <= error.position <= len(shifted)  # noqa: PT017 - not every input fails
        assert decode(cls, version, data) is None
    else:
        assert message == decode(cls, version, data)
        assert end <= len(shifted)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile())
def test_memory_is_bounded_by_the_length_of_the_bytes(drawn: tuple[type[Message], int, bytes]) -> None:
    cls, version, data = drawn
    decode(cls, version, data)
    tracemalloc.start()
    try:
        decode(cls, version, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= BYTES_OF_MEMORY_FOR_NOTHING + BYTES_OF_MEMORY_PER_BYTE * len(data)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile())
def test_steps_are_bounded_by_the_length_of_the_bytes(drawn: tuple[type[Message], int, bytes]) -> None:
    cls, version, data = drawn
    decode(cls, version, data)
    assert lines_of(lambda: decode(cls, version, data)) <= LINES_FOR_NOTHING + LINES_PER_BYTE * len(data)


def lines_of(call: Any) -> int:
    """How many lines of Python a call runs: time, without a clock."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_a_tag_section_that_announces_billions_ends_where_the_bytes_end() -> None:
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0)
    with pytest.raises(MessageDecodeError, match="unknown_tags"):
        ApiVersionsResponse.decode(3, body + b"\xff\xff\xff\xff\x07" + b"\x05\x00" * 20)
    # An int32 to Kafka: a count of -1, which is none.
    assert ApiVersionsResponse.decode(3, body + b"\xff\xff\xff\xff\x0f") == ApiVersionsResponse()
