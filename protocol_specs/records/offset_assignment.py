"""Offset assignment: a leader gives a produced record set offsets, timestamps, and its topic's format and codec.

Mirrors LogValidator, bytes in and bytes out, for every source and target magic. There are three cases: messages
and batches that keep their bytes get new header fields; uncompressed ones of another magic are converted one by one;
records with another codec, or with inner offsets that are not 0, 1, 2 ..., become one batch or wrapper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol_specs.errors import InvalidRecord, UnsupportedForMessageFormat, UnwritableRecord
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import (
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_peek import MAGIC_V0
from protocol_specs.records.message_set import with_offset, with_timestamp
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.message_set_reader import Message, iterate_messages
from protocol_specs.records.partial_reader import read_partially
from protocol_specs.records.record_batch import with_offset_and_epoch
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, Record, read_records, records_section
from protocol_specs.records.record_set import AnyHeader, iterate_any, read_any_record_set
from protocol_specs.records.record_validation import (
    RecordChecks,
    RecordRules,
    expect_one_batch,
    refusal_of_client_batch,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Batches = list[tuple[AnyHeader, memoryview]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRules(RecordRules):
    """The storage settings of a topic: `message.format.version` as magic, `compression.type`, and leader epoch."""

    to_magic: int = MAGIC_V2
    target_codec: CompressionCodec | None = None
    """None keeps the producer's codec."""
    level: int | None = None
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    from_client: bool = True
    limit_bytes: int = MAX_DECOMPRESSED_BYTES
    """The limit on the decompressed size of one batch; Kafka's only limit is its heap."""


@dataclass(slots=True, kw_only=True)
class AssignedRecords:
    """The record set as the log stores it. Mirrors LogValidator.ValidationResult."""

    records: bytes
    next_offset: int
    max_timestamp: int
    shallow_offset_of_max_timestamp: int
    records_converted: int
    """The number of rewritten records; 0 if the bytes were kept."""


def validate_and_assign_offsets(records: bytes | memoryview, *, offset: int, rules: AssignmentRules) -> AssignedRecords:
    """Check a record set that analyze_record_set has accepted, and assign offsets from `offset`.

    Raises a RecordBatchError with the broker's error code. Mirrors validateMessagesAndAssignOffsets.
    """
    batches = list(iterate_any(records))
    source = CompressionCodec.NONE
    for header, _ in batches:
        source = header.codec if header.is_compressed else source
    target = source if rules.target_codec is None else rules.target_codec
    try:
        if source is not CompressionCodec.NONE or target is not CompressionCodec.NONE:
            return _assign_compressed(batches, source, target, offset, rules)
        if all(header.magic == rules.to_magic for header, _ in batches):
            return _assign_in_place(batches, offset, rules)
        return _convert(batches, records, offset, rules)
    except ValueError as error:
        raise UnwritableRecord(str(error)) from None


def _convert(batches: _Batches, records: bytes | memoryview, offset: int, rules: AssignmentRules) -> AssignedRecords:
    """Mirrors convertAndAssignOffsetsNonCompressed."""
    # Kafka reads all records once to estimate the size of the result; malformed records are found here.
    for _ in read_any_record_set(records, limit_bytes=rules.limit_bytes):
        pass
    first = expect_one_batch(batches, CompressionCodec.NONE)
    writer = _Writer(first, CompressionCodec.NONE, offset, rules)
    for header, batch in batches:
        _check_header(header, first, rules)
        checks = RecordChecks(header, rules)
        for found in _read(header, batch, rules, skip_key_value=False):
            if checks.check(found) and checks.passed:
                writer.append(_as_record(found))
        checks.finish()
    return writer.finish()


def _assign_in_place(batches: _Batches, offset: int, rules: AssignmentRules) -> AssignedRecords:
    """Mirrors assignOffsetsNonCompressed."""
    first = expect_one_batch(batches, CompressionCodec.NONE)
    initial_offset = offset
    max_timestamp, shallow_offset = NO_TIMESTAMP, -1
    parts: list[bytes] = []
    for header, batch in batches:
        _check_header(header, first, rules)
        checks = RecordChecks(header, rules)
        newest = NO_TIMESTAMP
        for found in _read(header, batch, rules, skip_key_value=False):
            checks.check(found)
            offset += 1
            if header.magic > MAGIC_V0:
                newest = max(newest, found.timestamp)
        checks.finish()
        if newest > max_timestamp:
            max_timestamp, shallow_offset = newest, offset - 1
        parts.append(_stamped(header, batch, offset - 1, newest, rules))
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        if rules.to_magic == MAGIC_V0:
            max_timestamp, shallow_offset = NO_TIMESTAMP, -1
        else:
            max_timestamp = rules.now_ms
            shallow_offset = offset - 1 if rules.to_magic == MAGIC_V2 else initial_offset
    return AssignedRecords(
        records=b"".join(parts),
        next_offset=offset,
        max_timestamp=max_timestamp,
        shallow_offset_of_max_timestamp=shallow_offset,
        records_converted=0,
    )


def _assign_compressed(
    batches: _Batches, source: CompressionCodec, target: CompressionCodec, offset: int, rules: AssignmentRules
) -> AssignedRecords:
    """Mirrors validateMessagesAndAssignOffsetsCompressed."""
    first = expect_one_batch(batches, source)
    in_place = source is target and first.magic == rules.to_magic and rules.to_magic != MAGIC_V0
    if source is CompressionCodec.NONE and first.is_control:
        in_place = True
    skip_key_value = in_place and first.magic >= MAGIC_V2
    max_timestamp = NO_TIMESTAMP
    kept: list[Record] = []
    index = 0
    for header, batch in batches:
        _check_header(header, first, rules)
        checks = RecordChecks(header, rules, partial=skip_key_value and header.is_compressed)
        for found in _read(header, batch, rules, skip_key_value=skip_key_value):
            if checks.check(found):
                if header.magic > MAGIC_V0 and rules.to_magic > MAGIC_V0:
                    max_timestamp = max(max_timestamp, found.timestamp)
                    # Some clients write wrong inner offsets in magic 1: Kafka rewrites such a set.
                    in_place = in_place and found.offset == index
                kept.append(_as_record(found))
            index += 1
        checks.finish()
    if not in_place:
        if skip_key_value and first.is_compressed:
            # Kafka has skipped the keys and values that a rewrite would need.
            raise UnwritableRecord("a record of the compressed batch has a wrong offset delta")
        return _write_anew(kept, first, target, offset, rules)
    last_offset = offset + len(kept) - 1
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = rules.now_ms
    return AssignedRecords(
        records=_stamped(first, batches[0][1], last_offset, max_timestamp, rules),
        next_offset=last_offset + 1,
        max_timestamp=max_timestamp,
        shallow_offset_of_max_timestamp=last_offset,
        records_converted=0,
    )


def _write_anew(
    records: Iterable[Record], first: AnyHeader, target: CompressionCodec, offset: int, rules: AssignmentRules
) -> AssignedRecords:
    """Mirrors buildRecordsAndAssignOffsets."""
    writer = _Writer(first, target, offset, rules)
    for record in records:
        writer.append(record)
    return writer.finish()


def _check_header(header: AnyHeader, first: AnyHeader, rules: AssignmentRules) -> None:
    """Mirrors LogValidator.validateBatch."""
    if header.magic != first.magic:
        raise InvalidRecord(0, 0, f"Batch magic {header.magic} is not the same as the first batch's {first.magic}")
    if rules.from_client and (reason := refusal_of_client_batch(header)) is not None:
        raise InvalidRecord(0, 0, reason)
    if rules.to_magic < MAGIC_V2:
        if header.is_transactional:
            raise UnsupportedForMessageFormat(f"Transactional records cannot be used with magic {rules.to_magic}")
        if header.has_producer_id:
            raise UnsupportedForMessageFormat(f"Idempotent records cannot be used with magic {rules.to_magic}")


def _read(
    header: AnyHeader, batch: memoryview, rules: AssignmentRules, *, skip_key_value: bool
) -> Iterator[Record | Message]:
    """Read records as LogValidator does: those inside a wrapper lazily, so that their errors come in order."""
    if not isinstance(header, BatchHeader):
        yield from iterate_messages(batch, limit_bytes=rules.limit_bytes)
        return
    if not header.records_count:
        return
    section = records_section(batch, header, limit_bytes=rules.limit_bytes)
    if skip_key_value and header.is_compressed:
        walk_records(section, header.records_count, reading=RecordReading.PARTIAL)
        yield from read_partially(section, header)
        return
    reading = RecordReading.STREAM if header.is_compressed else RecordReading.BUFFER
    walk_records(section, header.records_count, reading=reading)
    yield from read_records(batch, limit_bytes=rules.limit_bytes)


def _as_record(found: Record | Message) -> Record:
    return found.record() if isinstance(found, Message) else found


def _stamped(
    header: AnyHeader, batch: memoryview, last_offset: int, max_timestamp: int, rules: AssignmentRules
) -> bytes:
    """Return the batch or message with its last offset, epoch and timestamp, and unchanged records."""
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = rules.now_ms
    if isinstance(header, BatchHeader):
        return with_offset_and_epoch(
            batch,
            last_offset - header.last_offset_delta,
            rules.partition_leader_epoch,
            max_timestamp=max_timestamp,
            timestamp_type=rules.timestamp_type,
        )
    message = with_offset(batch, last_offset)
    return message if header.magic == MAGIC_V0 else with_timestamp(message, rules.timestamp_type, max_timestamp)


class _Writer:
    """Builds the new record set in the target's magic and codec. Mirrors LogValidator's use of a builder."""

    def __init__(self, first: AnyHeader, codec: CompressionCodec, offset: int, rules: AssignmentRules) -> None:
        self._rules = rules
        self._first = first
        self._offset = self._next_offset = offset
        self._offset_of_max_timestamp = -1
        self._max_timestamp = NO_TIMESTAMP
        self._one_batch = codec is not CompressionCodec.NONE or rules.to_magic >= MAGIC_V2
        self._batch: RecordBatchBuilder | None = None
        self._messages: MessageSetBuilder | None = None
        if rules.to_magic >= MAGIC_V2:
            self._batch = RecordBatchBuilder(
                codec=codec,
                level=rules.level,
                timestamp_type=rules.timestamp_type,
                log_append_time=rules.now_ms,
                base_offset=offset,
                partition_leader_epoch=rules.partition_leader_epoch,
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch,
                base_sequence=first.base_sequence,
                is_transactional=first.is_transactional,
            )
        else:
            if first.is_transactional:
                raise ValueError(f"Transactional records are not supported for magic {rules.to_magic}")
            self._messages = MessageSetBuilder(
                magic=rules.to_magic,
                codec=codec,
                level=rules.level,
                timestamp_type=rules.timestamp_type,
                log_append_time=rules.now_ms,
                base_offset=offset,
            )

    def append(self, record: Record) -> None:
        """Add a record at the next offset. Raises ValueError for a record that Kafka's builder refuses."""
        if record.timestamp < NO_TIMESTAMP:
            raise ValueError(f"Invalid negative timestamp {record.timestamp}")
        if self._batch is not None:
            self._batch.append(record.timestamp, record.key, record.value, record.headers)
        elif self._messages is not None:
            if record.headers:
                raise ValueError(f"Magic v{self._rules.to_magic} does not support record headers")
            self._messages.append(record.timestamp, record.key, record.value)
        if self._rules.to_magic > MAGIC_V0 and record.timestamp > self._max_timestamp:
            self._max_timestamp = record.timestamp
            self._offset_of_max_timestamp = self._next_offset
        self._next_offset += 1

    def finish(self) -> AssignedRecords:
        """Close the set; its largest timestamp and the offset of that are those of MemoryRecordsBuilder.info."""
        self._check_producer_state()
        count = self._next_offset - self._offset
        if self._batch is not None:
            data = self._batch.build() if count else b""
        else:
            data = self._messages.build() if self._messages is not None else b""
        max_timestamp, shallow_offset = self._max_timestamp, -1
        if self._rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
            max_timestamp = self._rules.now_ms
            shallow_offset = self._next_offset - 1 if self._one_batch else self._offset
        elif max_timestamp != NO_TIMESTAMP:
            shallow_offset = self._next_offset - 1 if self._one_batch else self._offset_of_max_timestamp
        return AssignedRecords(
            records=data,
            next_offset=self._next_offset,
            max_timestamp=max_timestamp,
            shallow_offset_of_max_timestamp=shallow_offset,
            records_converted=count,
        )

    def _check_producer_state(self) -> None:
        """Mirrors MemoryRecordsBuilder.validateProducerState."""
        first = self._first
        if first.producer_id == NO_PRODUCER_ID:
            if first.is_transactional:
                raise ValueError("Cannot write transactional messages without a valid producer ID")
        elif first.producer_epoch == NO_PRODUCER_EPOCH:
            raise ValueError("Invalid negative producer epoch")
        elif first.base_sequence < 0:
            raise ValueError("Invalid negative sequence number used")
