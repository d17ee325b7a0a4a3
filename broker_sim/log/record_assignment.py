"""Slow path of produced record sets: other formats, other codecs, several batches, and every error.

Mirrors UnifiedLog.append up to LogValidator. protocol_specs validates and converts the bytes; the result is one batch
of magic 2 to store (`message_set_assignment` handles magic 0 and 1) or the error of the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import AppendOrigin, RecordError, RecordsRefused
from broker_sim.log.stored_batch import StoredBatch
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import (
    CompressionUnavailable,
    DecompressionLimitExceeded,
    RecordBatchError,
    RecordsRejected,
    TimestampsRejected,
)
from protocol_specs.records.batch_peek import LOG_OVERHEAD, MAGIC_OFFSET, MAGIC_V2, MIN_BATCH_LENGTH, peek_header
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.offset_assignment import AssignmentRules, validate_and_assign_offsets
from protocol_specs.records.record_set import iterate_any
from protocol_specs.records.record_validation import analyze_record_set

if TYPE_CHECKING:
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.topic_partition import TopicPartition

__all__ = ["DECOMPRESSED_BATCH_LIMIT_BYTES", "assign_offset", "assigned_bytes", "target_codec"]

DECOMPRESSED_BATCH_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""The decompressed size limit of one batch; Kafka's only limit is its heap. Beyond it: MESSAGE_TOO_LARGE."""

_SHOWN_RECORD_ERRORS: Final = 3
_SHORTEST_BATCH_BYTES: Final = LOG_OVERHEAD + MIN_BATCH_LENGTH
_WITHOUT_LOG_START_OFFSET: Final = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
"""The errors whose response has log start offset -1. Mirrors ReplicaManager.appendToLocalLog."""


def assign_offset(
    records: memoryview,
    *,
    topic_partition: TopicPartition,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> StoredBatch | None:
    """Return the record set as one stored batch; None if it holds no complete batch, which Kafka accepts silently.

    Raises:
        RecordsRefused: the first of Kafka's checks, in Kafka's order, that the records fail.
    """
    data = assigned_bytes(
        records,
        topic_partition=topic_partition,
        config=config,
        offset=offset,
        leader_epoch=leader_epoch,
        now_ms=now_ms,
        origin=origin,
    )
    return None if data is None else StoredBatch.of(peek_header(data), data)


def assigned_bytes(
    records: memoryview,
    *,
    topic_partition: TopicPartition,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> bytes | None:
    """Return the record set in the topic's format; None if it holds no complete batch.

    Raises:
        RecordsRefused: the first of Kafka's checks, in Kafka's order, that the records fail.
    """
    from_client = origin is AppendOrigin.CLIENT
    _refuse_shortest_batch(records, from_client=from_client)
    rules = AssignmentRules(
        to_magic=config.magic,
        now_ms=now_ms,
        timestamp_type=config.timestamp_type,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        compacted=config.compact,
        topic_partition=str(topic_partition),
        target_codec=target_codec(config),
        level=_level(config),
        partition_leader_epoch=leader_epoch,
        from_client=from_client,
        limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES,
    )
    try:
        info = analyze_record_set(records, from_client=from_client, max_batch_bytes=config.max_message_bytes)
        if not info.valid_bytes:
            return None
        # Bytes after the last complete batch are dropped silently, as in trimInvalidBytes.
        data = validate_and_assign_offsets(records[: info.valid_bytes], offset=offset, rules=rules).records
    except RecordsRejected as error:
        raise _rejected(error) from None
    except CompressionUnavailable as error:
        # No error of Kafka: the text reaches the client of Produce v8 and later, and the log.
        raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error), message=str(error)) from None
    except DecompressionLimitExceeded as error:
        raise _refused(ErrorCode.MESSAGE_TOO_LARGE, str(error)) from None
    except RecordBatchError as error:
        raise _refused(error.error_code, f"{error} in topic partition {topic_partition}") from None
    if len(data) > config.max_message_bytes:
        for header, _ in iterate_any(data):
            if header.size_in_bytes > config.max_message_bytes:
                reason = (
                    f"Message batch size is {header.size_in_bytes} bytes in append to partition {topic_partition} "
                    f"which exceeds the maximum configured size of {config.max_message_bytes}."
                )
                raise _refused(ErrorCode.MESSAGE_TOO_LARGE, reason)
    return data


def target_codec(config: TopicConfig) -> CompressionCodec | None:
    """Return the codec of the topic, None for the producer's. Mirrors BrokerCompressionType.targetCompression."""
    name = config.compression_type
    if name == "producer":
        return None
    return CompressionCodec.NONE if name == "uncompressed" else CompressionCodec.for_name(name)


def _level(config: TopicConfig) -> int | None:
    """Return the level of the topic's own codec, None (the default level) for the producer's codec."""
    levels = {
        "gzip": config.compression_gzip_level,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return levels.get(config.compression_type)


def _refuse_shortest_batch(records: memoryview, *, from_client: bool) -> None:
    """Refuse the shortest batch as Kafka does, which reads the offsets first: the batch ends within the last offset."""
    if len(records) < _SHORTEST_BATCH_BYTES or records[MAGIC_OFFSET] != MAGIC_V2:
        return
    if int.from_bytes(records[8:LOG_OVERHEAD], "big", signed=True) != MIN_BATCH_LENGTH:
        return
    if from_client and any(records[:8]):
        raise _refused(ErrorCode.INVALID_RECORD, "the base offset of a produced batch should be 0")
    raise _refused(ErrorCode.UNKNOWN_SERVER_ERROR, "a batch ends before its last offset delta")


def _refused(error_code: ErrorCode, reason: str) -> RecordsRefused:
    known = error_code not in _WITHOUT_LOG_START_OFFSET
    return RecordsRefused(error_code, reason, log_start_offset_known=known)


def _rejected(error: RecordsRejected) -> RecordsRefused:
    """Return the message and record errors of the response (KIP-467). Mirrors LogValidator.processRecordErrors."""
    errors = [RecordError(batch_index=index, message=reason) for index, reason in error.reasons.items()]
    if isinstance(error, TimestampsRejected):
        message = "One or more records have been rejected due to invalid timestamp"
    else:
        shown = ", ".join(
            f"RecordError(batchIndex={each.batch_index}, message='{each.message}')"
            for each in errors[:_SHOWN_RECORD_ERRORS]
        )
        message = (
            f"One or more records have been rejected due to {len(errors)} record errors in total, "
            f"and only showing the first three errors at most: [{shown}]"
        )
    return RecordsRefused(error.error_code, message, message=message, record_errors=errors)
