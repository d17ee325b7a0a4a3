"""Fast paths that decode a Produce and an OffsetCommit to one partition.

Successive requests of a producer differ in their record set alone, and those of a consumer in the offset. The bytes
before them (acks, timeout, topic, partition; group, member, topic, partition) are decoded once and are then the key
under which their values are found. The codec decodes every other request. docs/design/fast-paths.md has the measured
gains.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.codec.alike_elements import SMALL_BYTES_MAX
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from protocol_specs.message import Buffer, DecodeFunction

__all__ = ["offset_commit_decoder", "produce_decoder"]

HEADS_MAX: Final = 10_000
"""Most heads that are kept at a time: in usual clusters one per partition that clients write to."""
LOWEST_VERSION: Final = 9
"""The first flexible version: the layout that `_NAME_LENGTH` and `_HEAD_BESIDE_NAME` describe."""
TOPIC_IDS_LOWEST: Final = 13
COMMIT_LOWEST_VERSION: Final = 8
"""The first flexible version of OffsetCommit: the layout that `_OFFSET_AND_EPOCH` describes."""

_BEFORE_NAME_LENGTH: Final = 7
"""Length of acks, timeout and the number of topics, which are between transactional id and topic name."""
_HEAD_BESIDE_NAMES: Final = 13
"""Length of a head without transactional id and topic name: also has their lengths, the number of partitions and the
partition index."""
_TOPIC_ID_BYTES: Final = 16
_NO_TAGS: Final = b"\0\0\0"
"""The bytes after the records: the empty tag sections of partition, topic and request."""
_VARINT_MORE: Final = 0x80
_OFFSET_AND_EPOCH: Final = struct.Struct(">qi")
_COMMIT_TAIL_BYTES: Final = 16
"""Length of offset, leader epoch, empty metadata, and the empty tag sections of partition, topic and request."""
_COMMIT_END: Final = b"\1" + _NO_TAGS
"""Metadata "", as most clients send it, and the empty tag sections."""

_new: Final = object.__new__


def produce_decoder(version: int) -> DecodeFunction:
    """Return the decode function of one Produce version. It has a memory of its own, so share one per version."""
    decode = decoder_for(ProduceRequest, version)
    if version < LOWEST_VERSION:
        return decode
    heads: dict[Buffer, tuple[str | None, int, int, str, bytes, int]] = {}
    by_id = version >= TOPIC_IDS_LOWEST

    def learn(data: Buffer, position: int, head: Buffer) -> tuple[Any, int]:
        """Decode any request; keep the head of one that has one partition with records."""
        request: ProduceRequest
        request, end = decode(data, position)
        if isinstance(data, bytes) and len(request.topic_data) == 1:
            [topic] = request.topic_data
            if len(topic.partition_data) == 1 and _is_short(topic.name) and _is_short(request.transactional_id or ""):
                [partition] = topic.partition_data
                # A longer varint than needed would move what follows it: such a head is never kept.
                if head not in heads and request.encode(version).startswith(head):
                    if len(heads) >= HEADS_MAX:
                        heads.clear()
                    heads[head] = (
                        request.transactional_id, request.acks, request.timeout_ms,
                        topic.name, topic.topic_id, partition.index,
                    )  # fmt: skip
        return request, end

    def decode_repeated(data: Buffer, position: int) -> tuple[Any, int]:
        try:
            start = position + _HEAD_BESIDE_NAMES
            id_size = data[position] or 1
            start += id_size - 1 + (_TOPIC_ID_BYTES if by_id else data[position + id_size + _BEFORE_NAME_LENGTH])
            key = data[position:start]
            head = heads.get(key)
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
            return learn(data, position, key)
        partition = _new(PartitionProduceData)
        topic = _new(TopicProduceData)
        request = _new(ProduceRequest)
        (
            request.transactional_id, request.acks, request.timeout_ms,
            topic.name, topic.topic_id, partition.index,
        ) = head  # fmt: skip
        start += 1
        partition.records = data[start:stop] if stop - start <= SMALL_BYTES_MAX else memoryview(data)[start:stop]
        request.topic_data = [topic]
        topic.partition_data = [partition]
        partition.unknown_tags = topic.unknown_tags = request.unknown_tags = ()
        return request, stop + len(_NO_TAGS)

    return decode_repeated


def _is_short(text: str) -> bool:
    """Return True if the length of a text takes one byte."""
    return len(text.encode()) < _VARINT_MORE - 1


def offset_commit_decoder(version: int) -> DecodeFunction:
    """Return the decode function of one OffsetCommit version. It has a memory of its own, so share one per version."""
    decode = decoder_for(OffsetCommitRequest, version)
    if version < COMMIT_LOWEST_VERSION:
        return decode
    heads: dict[bytes, tuple[str, int, str, str | None, str, bytes, int]] = {}

    def learn(data: bytes, position: int) -> tuple[Any, int]:
        """Decode any request; keep the head of one that has one partition, without metadata and tags."""
        request: OffsetCommitRequest
        request, end = decode(data, position)
        if end == len(data) and len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
            [topic] = request.topics
            [partition] = topic.partitions
            # The same last bytes can also be a null metadata and an unknown tag.
            tags = partition.unknown_tags or topic.unknown_tags or request.unknown_tags
            if partition.committed_metadata == "" and not tags:
                if len(heads) >= HEADS_MAX:
                    heads.clear()
                heads[data[position:-_COMMIT_TAIL_BYTES]] = (
                    request.group_id,
                    request.generation_id_or_member_epoch,
                    request.member_id,
                    request.group_instance_id,
                    topic.name,
                    topic.topic_id,
                    partition.partition_index,
                )
        return request, end

    def decode_repeated(data: Buffer, position: int) -> tuple[Any, int]:
        if type(data) is not bytes or not data.endswith(_COMMIT_END, position):
            return decode(data, position)
        head = heads.get(data[position:-_COMMIT_TAIL_BYTES])
        if head is None:
            return learn(data, position)
        partition = _new(OffsetCommitRequestPartition)
        topic = _new(OffsetCommitRequestTopic)
        request = _new(OffsetCommitRequest)
        (
            request.group_id, request.generation_id_or_member_epoch, request.member_id, request.group_instance_id,
            topic.name, topic.topic_id, partition.partition_index,
        ) = head  # fmt: skip
        end = len(data)
        partition.committed_offset, partition.committed_leader_epoch = _OFFSET_AND_EPOCH.unpack_from(
            data, end - _COMMIT_TAIL_BYTES
        )
        partition.committed_metadata = ""
        partition.commit_timestamp = request.retention_time_ms = -1
        request.topics = [topic]
        topic.partitions = [partition]
        partition.unknown_tags = topic.unknown_tags = request.unknown_tags = ()
        return request, end

    return decode_repeated
