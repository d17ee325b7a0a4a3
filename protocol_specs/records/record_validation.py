"""The checks of Kafka for a record set of any magic, in its order: frames, sizes, checksums, headers, then records.

Mirrors ByteBufferLogInputStream, UnifiedLog.analyzeAndValidateRecords, and the checks of LogValidator. A refusal
is a RecordBatchError with the `error_code` of the response; the texts omit data that only a broker has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import (
    InvalidRecord,
    OffsetsOutOfOrder,
    RecordSetTooLarge,
    RecordsRejected,
    TimestampsRejected,
)
from protocol_specs.records.batch_peek import (
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_reader import Message, iterate_messages
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, Record, read_records, records_section
from protocol_specs.records.record_set import MAX_MESSAGE_BYTES, AnyHeader, check_any, iterate_any

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_LIMIT_MS: Final = (1 << 63) - 1
"""The default of `message.timestamp.before.max.ms`: no timestamp is too old."""

_INT64_HALF: Final = 1 << 63


@dataclass(slots=True, kw_only=True)
class RecordSetInfo:
    """The properties of a record set in its headers. Mirrors LogAppendInfo; offsets are -1 in an empty set."""

    first_offset: int = -1
    """The base offset of a first batch of magic 2; of message sets -1, because it requires decompression."""
    last_offset: int = -1
    last_offset_of_first_batch: int = -1
    last_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    max_timestamp: int = NO_TIMESTAMP
    shallow_offset_of_max_timestamp: int = -1
    source_codec: CompressionCodec = CompressionCodec.NONE
    valid_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRules:
    """A topic's requirements for each record: `message.timestamp.*` and `cleanup.policy`."""

    now_ms: int
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = NO_LIMIT_MS
    timestamp_after_max_ms: int = NO_LIMIT_MS
    compacted: bool = False
    topic_partition: str = ""
    """The partition in error texts; without it the text omits it."""


def analyze_record_set(
    records: bytes | memoryview,
    *,
    from_client: bool,
    max_batch_bytes: int | None = None,
    monotonic: bool = False,
) -> RecordSetInfo:
    """Check frame, base offset, size and checksum of each batch or message, as at the start of every append.

    `max_batch_bytes` is the topic's `max.message.bytes`; `monotonic` offsets are required of a follower.
    Raises CorruptRecordBatch, ChecksumMismatch, InvalidRecord, RecordSetTooLarge, OffsetsOutOfOrder, UnknownCodec.
    """
    info = RecordSetInfo()
    seen = False
    disorder: OffsetsOutOfOrder | None = None
    for header, batch in iterate_any(records):
        if from_client and isinstance(header, BatchHeader) and header.base_offset != 0:
            raise InvalidRecord(0, 0, f"the base offset of a produced batch should be 0, but is {header.base_offset}")
        if not seen:
            seen = True
            info.first_offset = header.base_offset if isinstance(header, BatchHeader) else -1
            info.last_offset_of_first_batch = header.last_offset
        if info.last_offset >= header.last_offset and disorder is None:
            disorder = OffsetsOutOfOrder(info.last_offset, header.last_offset)
        info.last_offset = header.last_offset
        info.last_leader_epoch = header.partition_leader_epoch
        if max_batch_bytes is not None and len(batch) > max_batch_bytes:
            raise RecordSetTooLarge(len(batch), max_batch_bytes)
        check_any(batch)
        if header.max_timestamp > info.max_timestamp:
            info.max_timestamp = header.max_timestamp
            info.shallow_offset_of_max_timestamp = header.last_offset
        info.valid_bytes += len(batch)
        if (codec := header.codec) is not CompressionCodec.NONE:
            info.source_codec = codec
    if monotonic and disorder is not None:
        raise disorder
    return info


def read_validated(
    records: bytes | memoryview,
    *,
    max_message_size: int = MAX_MESSAGE_BYTES,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Iterator[tuple[AnyHeader, list[Record]]]:
    """Read each batch or message with every check of its bytes; those before a bad one are yielded first.

    Beside frame, checksum and codec: records that fit their batch and its count, the checksum and magic of the messages
    inside a wrapper, and no wrapper inside a wrapper. Raises a RecordBatchError.
    """
    for _, batch in iterate_any(records, max_message_size=max_message_size):
        header = check_any(batch)
        if isinstance(header, BatchHeader):
            if header.records_count:  # Kafka does not read the records of an empty batch
                section = records_section(batch, header, limit_bytes=limit_bytes)
                reading = RecordReading.STREAM if header.is_compressed else RecordReading.BUFFER
                walk_records(section, header.records_count, reading=reading)
            yield header, read_records(batch, limit_bytes=limit_bytes)
            continue
        found: list[Record] = []
        for index, message in enumerate(iterate_messages(batch, limit_bytes=limit_bytes)):
            if message.header.magic != header.magic:
                raise InvalidRecord(index, 0, _other_magic(message, header))
            if header.is_compressed:
                message.ensure_valid()
            found.append(message.record())
        yield header, found


def refusal_of_client_batch(header: AnyHeader) -> str | None:
    """Return the reason why a client may not send such a header, None if it may. Mirrors LogValidator.validateBatch."""
    if not isinstance(header, BatchHeader):
        return None
    if header.last_offset_delta < 0:
        return f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}]"
    if header.records_count <= 0:
        return f"Invalid reported count for record batch: {header.records_count}"
    if header.last_offset_delta + 1 != header.records_count:
        offsets = f"[{header.base_offset}, {header.last_offset}]"
        return f"Inconsistent batch offset range {offsets} and count of records {header.records_count}"
    if header.is_control:
        return "Clients are not allowed to write control records"
    if header.producer_id >= 0 and header.base_sequence < 0:
        return f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}"
    return None


class RecordChecks:
    """Checks one batch's records against a topic's requirements: `check` for each record, then `finish`."""

    __slots__ = ("_bad_timestamp", "_header", "_index", "_partial", "_reasons", "_rules")

    def __init__(self, header: AnyHeader, rules: RecordRules, *, partial: bool = False) -> None:
        """Start with the first record; `partial` means that keys and values are skipped, also in error texts."""
        self._header = header
        self._rules = rules
        self._partial = partial
        self._reasons: dict[int, str] = {}
        self._bad_timestamp = False
        self._index = -1

    @property
    def passed(self) -> bool:
        """True if no record was rejected so far."""
        return not self._reasons

    def check(self, record: Record | Message) -> bool:
        """Check the next record. Raises ChecksumMismatch at once; other refusals are kept for `finish`."""
        self._index += 1
        header, rules = self._header, self._rules
        if isinstance(record, Message):
            if record.header.magic != header.magic:
                return self._refuse(_other_magic(record, header))
            if header.is_compressed:
                record.ensure_valid()
            has_key = record.has_key
        else:
            has_key = record.key is not None
        if rules.compacted and not has_key:
            where = f" in topic partition {rules.topic_partition}" if rules.topic_partition else ""
            return self._refuse(f"Compacted topic cannot accept message without key{where}")
        refusal = self._refusal_of_timestamp(record)
        if refusal is None:
            return True
        self._bad_timestamp = True
        return self._refuse(refusal)

    def finish(self) -> None:
        """Raise RecordsRejected or TimestampsRejected if a record was rejected. Mirrors processRecordErrors."""
        if self._reasons:
            raise (TimestampsRejected if self._bad_timestamp else RecordsRejected)(self._reasons)

    def _refuse(self, reason: str) -> bool:
        self._reasons[self._index] = reason
        return False

    def _refusal_of_timestamp(self, record: Record | Message) -> str | None:
        rules = self._rules
        if rules.timestamp_type is TimestampType.CREATE_TIME and record.timestamp != NO_TIMESTAMP:
            difference = _wrap_int64(rules.now_ms - record.timestamp)
            if difference > rules.timestamp_before_max_ms or _wrap_int64(-difference) > rules.timestamp_after_max_ms:
                oldest = _wrap_int64(rules.now_ms - rules.timestamp_before_max_ms)
                newest = _wrap_int64(rules.now_ms + rules.timestamp_after_max_ms)
                return (
                    f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
                    f"The timestamp should be within [{oldest}, {newest}]"
                )
            return None
        if self._header.timestamp_type is TimestampType.LOG_APPEND_TIME:
            text = _text_of(record, partial=self._partial)
            return f"Invalid timestamp type in message {text}. Producer should not set timestamp type to LogAppendTime."
        return None


def expect_one_batch(batches: list[tuple[AnyHeader, memoryview]], source: CompressionCodec) -> AnyHeader:
    """Return the first header; several batches are valid only as uncompressed messages.

    Raises InvalidRecord. Mirrors LogValidator.getFirstBatchAndMaybeValidateNoMoreBatches.
    """
    if not batches:
        raise InvalidRecord(0, 0, "Record batch has no batches at all")
    first = batches[0][0]
    if len(batches) > 1 and (first.magic >= MAGIC_V2 or source is not CompressionCodec.NONE):
        raise InvalidRecord(0, 0, "Compressed outer record has more than one batch")
    return first


def _text_of(record: Record | Message, *, partial: bool) -> str:
    """Format a record as Java's toString does; a partial record has its own form."""
    if isinstance(record, Message):
        return f"of magic {record.header.magic} with offset {record.offset}"
    kind, none = ("PartialDefaultRecord", -1) if partial else ("DefaultRecord", 0)
    key_size = none if record.key is None else len(record.key)
    value_size = none if record.value is None else len(record.value)
    return (
        f"{kind}(offset={record.offset}, timestamp={record.timestamp}, key={key_size} bytes, value={value_size} bytes)"
    )


def _other_magic(message: Message, header: AnyHeader) -> str:
    return f"a message of magic {message.header.magic} inside of a wrapper of magic {header.magic}"


def _wrap_int64(value: int) -> int:
    """Java's long arithmetic."""
    return (value + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF
