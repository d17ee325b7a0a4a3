"""What a leader asks of a produced batch before it stores it, in Kafka's order.

Mirrors UnifiedLog.analyzeAndValidateRecords (base offset, size, checksum, codec), then LogValidator (offsets, control
flag, sequence, every record's key and timestamp), which also gives the batch its offset, epoch and max timestamp and
compresses it anew where the topic's `compression.type` differs.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import AppendOrigin, RecordError, RecordsRefused
from broker_sim.log.stored_batch import NO_TIMESTAMP, StoredBatch
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import DecompressionLimitExceeded, MalformedVarint, RecordBatchError
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    MIN_BATCH_LENGTH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    TimestampType,
    peek_header,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.partial_reader import read_partially
from protocol_specs.records.record_batch import (
    RecordBatchBuilder,
    read_records,
    records_section,
    with_offset_and_epoch,
)
from protocol_specs.records.record_validation import refusal_of_client_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.record_batch import Record

DECOMPRESSED_BATCH_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""What one compressed batch may grow to; Kafka has no such limit but its heap. Beyond it: MESSAGE_TOO_LARGE."""

_PREFIX: Final = struct.Struct(">qii")
"""Base offset, batch length, leader epoch: all that lies before the magic."""

# What is asked of each batch: an enum's members are looked up slowly.
_CLIENT: Final = AppendOrigin.CLIENT
_LAST_CODEC: Final = CompressionCodec.ZSTD

_SHOWN_RECORD_ERRORS: Final = 3
_LAST_OFFSET_DELTA_END: Final = 27
_INT64_HALF: Final = 1 << 63
_INT64_MIN: Final = -_INT64_HALF
_INT64_MAX: Final = _INT64_HALF - 1
_EARLIEST_SANE_TIMESTAMP: Final = -(1 << 62)
"""Below it, Java's subtraction from the broker's time overflows."""


def validate_and_assign_offset(
    records: bytes | memoryview,
    *,
    topic_partition: TopicPartition,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin = _CLIENT,
) -> StoredBatch:
    """The batch as the log stores it, its first record at `offset`; RecordsRefused by Kafka's rules, in their order."""
    if not isinstance(records, memoryview):
        records = memoryview(records)
    header = _analyze(records, topic_partition, config, origin)
    size = LOG_OVERHEAD + header.batch_length
    if size != len(records):
        # Bytes after the last whole batch are dropped without a word, as trimInvalidBytes does.
        records = records[:size]
    if origin is _CLIENT:
        _validate_batch(header, topic_partition)
    attributes = header.attributes
    try:
        if config.compression_type == "producer" or _keeps_its_codec(header, config):
            max_timestamp = _check_records(records, header, topic_partition, config, now_ms)
            stamped_by_broker = attributes & TIMESTAMP_TYPE_MASK
            if max_timestamp == header.max_timestamp and bool(stamped_by_broker) == bool(config.timestamp_type):
                # What changes lies before the checksum: one copy, and nothing to compute.
                prefix = _PREFIX.pack(offset, header.batch_length, leader_epoch)
                data = b"".join((prefix, records[MAGIC_OFFSET:]))
            else:
                data = with_offset_and_epoch(
                    records, offset, leader_epoch, max_timestamp=max_timestamp, timestamp_type=config.timestamp_type
                )
        else:
            checked = _checked_records(records, header, topic_partition, config, now_ms)
            target = target_codec(config, header.codec)
            data = _rebuild(checked, header, target, config, offset, leader_epoch, now_ms)
            header = peek_header(data)
            attributes = header.attributes
            max_timestamp = header.max_timestamp
            _check_size(len(data), config, topic_partition)
    except DecompressionLimitExceeded as error:
        raise RecordsRefused(ErrorCode.MESSAGE_TOO_LARGE, str(error), log_start_offset_known=False) from None
    except (MalformedVarint, ValueError) as error:
        # Java's IllegalArgumentException, which is no error of Kafka's API: an endless length, a negative timestamp.
        raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
    except RecordBatchError as error:
        raise RecordsRefused(error.error_code, str(error)) from None
    return StoredBatch(
        data,
        offset,
        offset + header.last_offset_delta,
        leader_epoch,
        max_timestamp,
        len(data),
        header.records_count,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        attributes & CONTROL_FLAG_MASK != 0,
        attributes & TRANSACTIONAL_FLAG_MASK != 0,
    )


def _analyze(
    records: memoryview, topic_partition: TopicPartition, config: TopicConfig, origin: AppendOrigin
) -> BatchHeader:
    """The frame, base offset, size, checksum and codec of the only batch. Mirrors analyzeAndValidateRecords."""
    try:
        header = peek_header(records)
    except RecordBatchError as error:
        raise _bad_frame(records, str(error)) from None
    size = LOG_OVERHEAD + header.batch_length
    if not RECORD_BATCH_OVERHEAD <= size <= len(records):
        raise _bad_frame(records, f"batch of {size} bytes in a record set of {len(records)}")
    if header.base_offset != 0 and origin is _CLIENT:
        reason = (
            f"The baseOffset of the record batch in the append to {topic_partition} should be 0, "
            f"but it is {header.base_offset}"
        )
        raise RecordsRefused(ErrorCode.INVALID_RECORD, reason)
    _check_size(size, config, topic_partition)
    if crc32c(records[ATTRIBUTES_OFFSET:size]) != header.crc:
        reason = f"Record is corrupt (stored crc = {header.crc}) in topic partition {topic_partition}."
        raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, reason, log_start_offset_known=False)
    if header.attributes & COMPRESSION_CODEC_MASK > _LAST_CODEC:
        reason = f"Unknown compression type id: {header.attributes & COMPRESSION_CODEC_MASK}"
        raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, reason)
    return header


def _bad_frame(records: bytes | memoryview, reason: str) -> RecordsRefused:
    """What Kafka answers for a record set without one whole batch of magic 2."""
    length = int.from_bytes(records[8:LOG_OVERHEAD], "big", signed=True)
    if len(records) < LOG_OVERHEAD:
        return RecordsRefused(ErrorCode.INVALID_RECORD, "Record batch has no batches at all")
    if length < MIN_BATCH_LENGTH:
        return RecordsRefused(ErrorCode.CORRUPT_MESSAGE, reason, log_start_offset_known=False)
    if len(records) < HEADER_SIZE_UP_TO_MAGIC:
        return RecordsRefused(ErrorCode.INVALID_RECORD, "Record batch has no batches at all")
    magic = records[MAGIC_OFFSET]
    if magic > MAGIC_V2:
        return RecordsRefused(ErrorCode.CORRUPT_MESSAGE, reason, log_start_offset_known=False)
    if len(records) < LOG_OVERHEAD + length:
        return RecordsRefused(ErrorCode.INVALID_RECORD, "Record batch has no batches at all")
    if magic < MAGIC_V2:
        reason = f"message format v{magic} is not supported"
        return RecordsRefused(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, reason)
    if length < _LAST_OFFSET_DELTA_END - LOG_OVERHEAD:
        # Kafka reads the last offset delta before the checksum, and falls off the buffer.
        return RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, reason)
    return RecordsRefused(ErrorCode.CORRUPT_MESSAGE, reason, log_start_offset_known=False)


def _check_size(size: int, config: TopicConfig, topic_partition: TopicPartition) -> None:
    if size > config.max_message_bytes:
        reason = (
            f"The record batch size in the append to {topic_partition} is {size} bytes "
            f"which exceeds the maximum configured value of {config.max_message_bytes}."
        )
        raise RecordsRefused(ErrorCode.MESSAGE_TOO_LARGE, reason, log_start_offset_known=False)


def _validate_batch(header: BatchHeader, topic_partition: TopicPartition) -> None:
    """What a client may not write in a header. Mirrors LogValidator.validateBatch."""
    reason = refusal_of_client_batch(header)
    if reason is not None:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"{reason} in topic partition {topic_partition}")


def _keeps_its_codec(header: BatchHeader, config: TopicConfig) -> bool:
    codec = header.codec
    return target_codec(config, codec) is codec or (header.is_control and not header.is_compressed)


def target_codec(config: TopicConfig, source: CompressionCodec) -> CompressionCodec:
    """The codec that the topic stores: its own, or the producer's. Mirrors BrokerCompressionType.targetCompression."""
    name = config.compression_type
    if name == "producer":
        return source
    return CompressionCodec.NONE if name == "uncompressed" else CompressionCodec.for_name(name)


def _check_records(
    records: memoryview,
    header: BatchHeader,
    topic_partition: TopicPartition,
    config: TopicConfig,
    now_ms: int,
) -> int:
    """Walk the records of a batch that is stored as it is, and answer its max timestamp as the broker writes it."""
    compressed = header.attributes & COMPRESSION_CODEC_MASK
    if compressed:
        section = records_section(records, header, limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES)
        walk = walk_records(section, header.records_count, reading=RecordReading.PARTIAL)
    else:
        section = b""
        walk = walk_records(records[RECORD_BATCH_OVERHEAD:], header.records_count)
    if header.attributes & TIMESTAMP_TYPE_MASK:
        newest = oldest = header.max_timestamp
    else:
        newest = header.base_timestamp + walk.max_timestamp_delta
        oldest = header.base_timestamp + walk.min_timestamp_delta
    wraps = newest > _INT64_MAX or oldest < _INT64_MIN
    if (
        wraps
        or (config.compact and walk.first_null_key_index >= 0)
        or _suspicious(oldest, newest, header, config, now_ms)
    ):
        found = read_partially(section, header) if compressed else read_records(records)
        _refuse_bad_records(found, header, topic_partition, config, now_ms, partial=bool(compressed))
        if wraps:
            newest = max(record.timestamp for record in found)
    if compressed and walk.first_wrong_offset_index >= 0:
        # Kafka would write the batch anew, but has skipped the keys and values that it needs for that.
        reason = f"record {walk.first_wrong_offset_index} of the compressed batch has a wrong offset delta"
        raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, reason)
    if config.timestamp_type:
        return now_ms
    if newest < NO_TIMESTAMP:
        return NO_TIMESTAMP
    return newest


def _checked_records(
    records: memoryview,
    header: BatchHeader,
    topic_partition: TopicPartition,
    config: TopicConfig,
    now_ms: int,
) -> list[Record]:
    """Read and check the records of a batch that is compressed anew."""
    if not header.is_compressed:
        # The walk tells a record length that never ends from other malformed records.
        walk_records(records[RECORD_BATCH_OVERHEAD:], header.records_count)
    found = read_records(records, limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES)
    _refuse_bad_records(found, header, topic_partition, config, now_ms, partial=False)
    return found


def _rebuild(
    records: Sequence[Record],
    header: BatchHeader,
    codec: CompressionCodec,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
) -> bytes:
    """Write the records into a new batch. Mirrors LogValidator.buildRecordsAndAssignOffsets."""
    _check_producer_state(header)
    builder = RecordBatchBuilder(
        codec=codec,
        level=_level(codec, config),
        timestamp_type=config.timestamp_type,
        log_append_time=now_ms,
        base_offset=offset,
        partition_leader_epoch=leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
    )
    for record in records:
        if record.timestamp < NO_TIMESTAMP:
            msg = f"Invalid negative timestamp {record.timestamp}"
            raise ValueError(msg)
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()


def _check_producer_state(header: BatchHeader) -> None:
    """What Kafka's builder of a batch does not write. Mirrors MemoryRecordsBuilder.validateProducerState."""
    if header.producer_id == NO_PRODUCER_ID:
        if header.is_transactional:
            raise ValueError("Cannot write transactional messages without a valid producer ID")
    elif header.producer_epoch == NO_PRODUCER_EPOCH:
        raise ValueError("Invalid negative producer epoch")
    elif header.base_sequence < 0:
        raise ValueError("Invalid negative sequence number used")


def _level(codec: CompressionCodec, config: TopicConfig) -> int | None:
    if codec is CompressionCodec.GZIP:
        return config.compression_gzip_level
    if codec is CompressionCodec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec is CompressionCodec.ZSTD else None


def _suspicious(oldest: int, newest: int, header: BatchHeader, config: TopicConfig, now_ms: int) -> bool:
    """Whether some timestamp may have to be refused; the records then decide one by one."""
    if config.timestamp_type:
        return bool(header.timestamp_type)
    return (
        newest > now_ms + config.message_timestamp_after_max_ms
        or oldest < now_ms - config.message_timestamp_before_max_ms
        or oldest < _EARLIEST_SANE_TIMESTAMP
        or bool(header.attributes & TIMESTAMP_TYPE_MASK)
    )


def _refuse_bad_records(
    records: Sequence[Record],
    header: BatchHeader,
    topic_partition: TopicPartition,
    config: TopicConfig,
    now_ms: int,
    *,
    partial: bool,
) -> None:
    """Raise for the records whose key or timestamp the topic refuses. Mirrors LogValidator.processRecordErrors."""
    errors: list[RecordError] = []
    bad_timestamp = False
    for index, record in enumerate(records):
        if config.compact and record.key is None:
            text = f"Compacted topic cannot accept message without key in topic partition {topic_partition}"
            errors.append(RecordError(batch_index=index, message=text))
            continue
        refusal = _refused_timestamp(record, header, config, now_ms, partial=partial)
        if refusal is not None:
            bad_timestamp = True
            errors.append(RecordError(batch_index=index, message=refusal))
    if not errors:
        return
    if bad_timestamp:
        message = "One or more records have been rejected due to invalid timestamp"
        raise RecordsRefused(ErrorCode.INVALID_TIMESTAMP, message, message=message, record_errors=errors)
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:_SHOWN_RECORD_ERRORS]
    )
    message = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    raise RecordsRefused(ErrorCode.INVALID_RECORD, message, message=message, record_errors=errors)


def _refused_timestamp(
    record: Record, header: BatchHeader, config: TopicConfig, now_ms: int, *, partial: bool
) -> str | None:
    """Why a record's timestamp is refused, None when it is not. Mirrors LogValidator.validateTimestamp."""
    before_ms, after_ms = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
    if config.timestamp_type is TimestampType.CREATE_TIME and record.timestamp != NO_TIMESTAMP:
        difference = _wrap_int64(now_ms - record.timestamp)
        if difference > before_ms or _wrap_int64(-difference) > after_ms:
            return (
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The timestamp "
                f"should be within [{_wrap_int64(now_ms - before_ms)}, {_wrap_int64(now_ms + after_ms)}]"
            )
        return None
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        kind, none = ("PartialDefaultRecord", -1) if partial else ("DefaultRecord", 0)
        key_size = none if record.key is None else len(record.key)
        value_size = none if record.value is None else len(record.value)
        return (
            f"Invalid timestamp type in message {kind}(offset={record.offset}, timestamp={record.timestamp}, "
            f"key={key_size} bytes, value={value_size} bytes). Producer should not set timestamp type to LogAppendTime."
        )
    return None


def _wrap_int64(value: int) -> int:
    """Java's long arithmetic."""
    return (value + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF
