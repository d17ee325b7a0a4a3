"""A response whose frame is ready, and the ones that are worth it: successful Produces.

A Produce to one partition is most of what a broker is asked, and its answers differ in four numbers: the rest is taken
from an encoded example of that version, topic and partition. What is not plain success is a message as any other.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOWEST_VERSION", "PreparedResponse", "produced"]

EXAMPLES_LIMIT: Final = 10_000
LOWEST_VERSION: Final = 5
"""From here on the three numbers of a partition are neighbours."""

_NUMBERS: Final = struct.Struct(">qqq")
_SAMPLE: Final = (-0x0123456789ABCDEF, -0x0FEDCBA987654321, -0x1122334455667788)
_SIZE_BYTES: Final = 4
_CORRELATION_END: Final = 8

PreparedResponse: TypeAlias = bytes
"""A whole frame."""

_Example: TypeAlias = "tuple[Callable[..., bytes], bytes, bytes, bytes]"
"""What packs a frame; and its size, what stands before the numbers of the partition, and what after them."""

_examples: dict[tuple[int, str, bytes, int], _Example] = {}


def produced(
    correlation_id: int,
    version: int,
    topic: str,
    topic_id: bytes,
    partition: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
) -> PreparedResponse:
    """The answer to a Produce to one partition that has succeeded; not for versions below LOWEST_VERSION."""
    key = (version, topic, topic_id, partition)
    example = _examples.get(key)
    if example is None:
        example = _make_example(*key)
    pack, size, head, tail = example
    return pack(size, correlation_id, head, base_offset, log_append_time_ms, log_start_offset, tail)


def _make_example(version: int, topic: str, topic_id: bytes, partition: int) -> _Example:
    base_offset, log_append_time_ms, log_start_offset = _SAMPLE
    answer = PartitionProduceResponse(
        index=partition,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[answer])]
    )
    frame = encode_response(response, version, correlation_id=0)
    head, tail = frame[_CORRELATION_END:].split(_NUMBERS.pack(*_SAMPLE))
    whole = struct.Struct(f">{_SIZE_BYTES}si{len(head)}sqqq{len(tail)}s")
    if len(_examples) >= EXAMPLES_LIMIT:
        _examples.clear()
    example = whole.pack, frame[:_SIZE_BYTES], head, tail
    _examples[version, topic, topic_id, partition] = example
    return example
