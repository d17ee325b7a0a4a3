"""Response frames from templates, for successful Produces to one partition.

Most requests to a broker are Produces to one partition, and their responses differ in four numbers: the rest is taken
from an encoded template of the version, topic and partition. Any other result is encoded as a message.
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
"""From this version on the three numbers of a partition are adjacent."""

_NUMBERS: Final = struct.Struct(">qqq")
_SAMPLE: Final = (-0x0123456789ABCDEF, -0x0FEDCBA987654321, -0x1122334455667788)
_SIZE_BYTES: Final = 4
_CORRELATION_END: Final = 8

PreparedResponse: TypeAlias = bytes
"""A whole frame."""

_Example: TypeAlias = "tuple[Callable[..., bytes], bytes, bytes, bytes]"
"""A function that packs a frame; the frame's size; the bytes before the numbers of the partition, and those after."""

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
    """Return the response to a successful Produce to one partition; not for versions below LOWEST_VERSION."""
    key = (version, topic, topic_id, partition)
    example = _examples.get(key)
    if example is None:
        example = _make_example(*key)
    pack, size, head, tail = example
    return pack(size, correlation_id, head, base_offset, log_append_time_ms, log_start_offset, tail)


def _make_example(version: int, topic: str, topic_id: bytes, partition: int) -> _Example:
    base_offset, log_append_time_ms, log_start_offset = _SAMPLE
    partition_response = PartitionProduceResponse(
        index=partition,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[partition_response])]
    )
    frame = encode_response(response, version, correlation_id=0)
    head, tail = frame[_CORRELATION_END:].split(_NUMBERS.pack(*_SAMPLE))
    whole = struct.Struct(f">{_SIZE_BYTES}si{len(head)}sqqq{len(tail)}s")
    if len(_examples) >= EXAMPLES_LIMIT:
        _examples.clear()
    example = whole.pack, frame[:_SIZE_BYTES], head, tail
    _examples[version, topic, topic_id, partition] = example
    return example
