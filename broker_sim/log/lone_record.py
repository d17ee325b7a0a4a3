"""Fast path that validates a produced batch of one plain record: uncompressed, of CreateTime, without a transaction.

With one record per request the validation is the largest part of an append. A batch with one timestamp, and with zeros
for attributes and last offset delta, needs few checks. `batch_validation` validates every other batch.
A batch that a coordinator has built needs fewer still. docs/design/fast-paths.md has the measured gains.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.built_batch import BuiltBatch
from broker_sim.log.stored_batch import LOG_FIELDS, StoredBatch
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
)
from protocol_specs.records.batch_walk import walk_lone
from protocol_specs.records.checksums import crc32c

if TYPE_CHECKING:
    from broker_sim.config.topic_config import TopicConfig
    from protocol_specs.records.lone_batch import LoneBatch

__all__ = ["built_record_as_it_is", "lone_record_as_it_is"]

_FIELDS: Final = struct.Struct(">qi4xbI6sqqqhii")
"""The header of a batch without leader epoch; attributes and last offset delta as bytes."""
_PLAIN: Final = bytes(6)
"""Attributes and last offset delta of a lone record: no codec, CreateTime, no transaction, no control batch."""

_new: Final = object.__new__


def lone_record_as_it_is(
    records: bytes | memoryview, config: TopicConfig, offset: int, leader_epoch: int, now_ms: int
) -> StoredBatch | None:
    """Return a batch of one plain record as the log stores it at `offset`; None for any other batch."""
    length = len(records)
    if length <= RECORD_BATCH_OVERHEAD:
        return None
    (
        base_offset, batch_length, magic, crc, plain, timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, records_count,
    ) = _FIELDS.unpack_from(records)  # fmt: skip
    if (
        records_count != 1
        or plain != _PLAIN
        or magic != MAGIC_V2
        or base_offset
        or LOG_OVERHEAD + batch_length != length
        or length > config.plain_batch_bytes_max
        or timestamp != max_timestamp
        or timestamp < 0
        or not now_ms - config.message_timestamp_before_max_ms <= timestamp
        or not timestamp <= now_ms + config.message_timestamp_after_max_ms
        or producer_id >= 0 > base_sequence
        or crc32c(records[ATTRIBUTES_OFFSET:]) != crc
    ):
        return None
    data = LOG_FIELDS.pack(offset, batch_length, leader_epoch) + records[MAGIC_OFFSET:]
    walk = walk_lone(data, RECORD_BATCH_OVERHEAD)
    if walk is None or (config.compact and not walk.first_null_key_index):
        return None
    batch = _new(StoredBatch)
    batch.data = data
    batch.base_offset = batch.last_offset = offset
    batch.leader_epoch = leader_epoch
    batch.max_timestamp = timestamp
    batch.size = length
    batch.records_count = 1
    batch.producer_id = producer_id
    batch.producer_epoch = producer_epoch
    batch.base_sequence = base_sequence
    batch.attributes = 0
    return batch


def built_record_as_it_is(
    records: LoneBatch, config: TopicConfig, offset: int, leader_epoch: int, now_ms: int
) -> StoredBatch | None:
    """Return a batch of this process as the log stores it at `offset`; None for one that the topic changes."""
    timestamp = records.timestamp_ms
    length = records.size
    if (
        length > config.plain_batch_bytes_max
        or timestamp < 0
        or not now_ms - config.message_timestamp_before_max_ms <= timestamp
        or not timestamp <= now_ms + config.message_timestamp_after_max_ms
    ):
        return None
    batch = _new(BuiltBatch)
    batch.bytes_or_parts = records
    batch.base_offset = batch.last_offset = offset
    batch.leader_epoch = leader_epoch
    batch.max_timestamp = timestamp
    batch.size = length
    batch.records_count = 1
    batch.producer_id = records.producer_id
    batch.producer_epoch = records.producer_epoch
    batch.base_sequence = records.base_sequence
    batch.attributes = records.attributes
    return batch
