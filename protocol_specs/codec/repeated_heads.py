"""Fast path that decodes a Produce request to one partition.

Successive requests of a producer differ in their record set alone. The bytes before the records (acks, timeout, topic,
partition) are decoded once and are then the key under which their values are found. The codec decodes every other
request. docs/design/fast-paths.md has the measured gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.alike_elements import SMALL_BYTES_MAX
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, DecodeFunction

__all__ = ["produce_decoder"]

HEADS_MAX: Final = 10_000
"""Most heads that are kept at a time: in usual clusters one per partition that clients write to."""
LOWEST_VERSION: Final = 9
"""The first flexible version: the layout that `_NAME_LENGTH` and `_HEAD_BESIDE_NAME` describe."""
TOPIC_IDS_LOWEST: Final = 13

_NAME_LENGTH: Final = 8
"""Offset of the topic name's length (one byte): after transactional id, acks, timeout and the number of topics."""
_HEAD_BESIDE_NAME: Final = 13
"""Length of a head without the name: includes the name's length, the number of partitions and the partition index."""
_TOPIC_ID_BYTES: Final = 16
_NO_TAGS: Final = b"\0\0\0"
"""The bytes after the records: the empty tag sections of partition, topic and request."""
_VARINT_MORE: Final = 0x80

_new: Final = object.__new__


def produce_decoder(version: int) -> DecodeFunction:
    """Return the decode function of one Produce version. It has a memory of its own, so share one per version."""
    decode = decoder_for(ProduceRequest, version)
    if version < LOWEST_VERSION:
        return decode
    heads: dict[Buffer, tuple[int, int, str, bytes, int]] = {}
    by_id = version >= TOPIC_IDS_LOWEST

    def learn(data: Buffer, position: int) -> tuple[Any, int]:
        """Decode any request; keep the head of one that has no transaction and one partition with records."""
        request: ProduceRequest
        request, end = decode(data, position)
        if isinstance(data, bytes) and request.transactional_id is None and len(request.topic_data) == 1:
            [topic] = request.topic_data
            if len(topic.partition_data) == 1 and len(topic.name.encode()) < _VARINT_MORE - 1:
                [partition] = topic.partition_data
                name_length = _TOPIC_ID_BYTES if by_id else data[position + _NAME_LENGTH]
                head = data[position : position + _HEAD_BESIDE_NAME + name_length]
                if len(heads) >= HEADS_MAX:
                    heads.clear()
                heads[head] = (request.acks, request.timeout_ms, topic.name, topic.topic_id, partition.index)
        return request, end

    def decode_repeated(data: Buffer, position: int) -> tuple[Any, int]:
        try:
            start = position + _HEAD_BESIDE_NAME + (_TOPIC_ID_BYTES if by_id else data[position + _NAME_LENGTH])
            head = heads.get(data[position:start])
            size = data[start]
            if size >= _VARINT_MORE:
                start += 1
                if data[start] >= _VARINT_MORE:
                    head = None
                size += (data[start] << 7) - _VARINT_MORE
        except (IndexError, TypeError, ValueError):
            return decode(data, position)
        stop = start + size
        if head is None or not size or data[stop:] != _NO_TAGS:
            return learn(data, position)
        partition = _new(PartitionProduceData)
        topic = _new(TopicProduceData)
        request = _new(ProduceRequest)
        request.acks, request.timeout_ms, topic.name, topic.topic_id, partition.index = head
        start += 1
        partition.records = data[start:stop] if stop - start <= SMALL_BYTES_MAX else memoryview(data)[start:stop]
        request.transactional_id = None
        request.topic_data = [topic]
        topic.partition_data = [partition]
        partition.unknown_tags = topic.unknown_tags = request.unknown_tags = ()
        return request, stop + len(_NO_TAGS)

    return decode_repeated
