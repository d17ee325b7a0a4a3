"""A response whose bytes are ready but for the correlation id, and the ones that are worth it: successful Produces.

A Produce to one partition is most of what a broker is asked, and its answers differ in three numbers: the rest is taken
from an encoded example of that version, topic and partition. What is not plain success is a message as any other.
"""

from __future__ import annotations

import struct
from typing import Final

from protocol_specs.framing import encode_response
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

__all__ = ["LOWEST_VERSION", "PreparedResponse", "produced"]

EXAMPLES_LIMIT: Final = 10_000
LOWEST_VERSION: Final = 5
"""From here on the three numbers are neighbours."""

_NUMBERS: Final = struct.Struct(">qqq")
_SAMPLE: Final = (-0x0123456789ABCDEF, -0x0FEDCBA987654321, -0x1122334455667788)
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")
_CORRELATION_BYTES: Final = 4

_examples: dict[tuple[int, str, bytes, int], tuple[bytes, bytes]] = {}


class PreparedResponse:
    """Everything of a frame that comes after the correlation id."""

    __slots__ = ("rest",)

    def __init__(self, rest: bytes) -> None:
        self.rest = rest

    def frame(self, correlation_id: int) -> bytes:
        """The whole frame."""
        return _SIZE_AND_CORRELATION.pack(_CORRELATION_BYTES + len(self.rest), correlation_id) + self.rest


def produced(
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
    head, tail = example
    return PreparedResponse(head + _NUMBERS.pack(base_offset, log_append_time_ms, log_start_offset) + tail)


def _make_example(version: int, topic: str, topic_id: bytes, partition: int) -> tuple[bytes, bytes]:
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
    head, tail = frame[_SIZE_AND_CORRELATION.size :].split(_NUMBERS.pack(*_SAMPLE))
    if len(_examples) >= EXAMPLES_LIMIT:
        _examples.clear()
    _examples[version, topic, topic_id, partition] = head, tail
    return head, tail
