"""Record sets made by chance, of every magic and codec, and what reads a record set. Mirrors MemoryRecords.

A reader here is what a broker or a client does with the bytes of a Records field, from a look at the headers to every
record decompressed; all that it may raise is a RecordBatchError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import CompressionUnavailable, RecordBatchError
from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker,
    end_transaction_marker_batch,
)
from protocol_specs.records.message_peek import MessageHeader
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.message_set_reader import iterate_messages
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.records.record_reader import records_section
from protocol_specs.records.record_set import check_any, iterate_any, read_any
from protocol_specs.records.record_spans import annotate_record_set

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from protocol_specs.message import Buffer
    from protocol_specs.records.message_set_reader import Message

DECOMPRESSED_BYTES_MAX: Final = 64 * 1024
"""What a batch may decompress to here: the `limit_bytes` that readers are given."""

_SPANS_MAX: Final = 100
_BASE_TIMESTAMP: Final = 1_700_000_000_000
_MARKERS: Final = (ControlRecordType.ABORT, ControlRecordType.COMMIT)


def make_record_sets(chance: Random, count: int) -> list[bytes]:
    """Sound record sets of one to three batches, and an empty one."""
    sets = [b""]
    while len(sets) < count:
        codec = CompressionCodec(len(sets) % len(CompressionCodec))
        try:
            sets.append(b"".join(_batch(chance, codec) for _ in range(1 + int(chance.random() ** 2 * 3))))
        except CompressionUnavailable:
            sets.append(_batch(chance, CompressionCodec.NONE))
    return sets


def _messages(chance: Random, codec: CompressionCodec) -> bytes:
    builder = MessageSetBuilder(
        magic=chance.random() < 0.5,
        codec=CompressionCodec.NONE if codec is CompressionCodec.ZSTD else codec,
        timestamp_type=TimestampType(chance.random() < 0.2),
        log_append_time=_BASE_TIMESTAMP,
        base_offset=int(chance.random() * 1000),
    )
    for index in range(1 + int(chance.random() ** 2 * 8)):
        key = None if chance.random() < 0.4 else chance.randbytes(4)
        builder.append(
            _BASE_TIMESTAMP + index, key, None if chance.random() < 0.1 else bytes(int(chance.random() * 40))
        )
    return builder.build()


def _batch(chance: Random, codec: CompressionCodec) -> bytes:
    if chance.random() < 0.3:
        return _messages(chance, codec)
    producer_id = int(chance.random() * 1000) if chance.random() < 0.5 else -1
    idempotent = producer_id >= 0
    offset = int(chance.random() * 1000)
    if chance.random() < 0.1:
        marker = EndTransactionMarker(control_type=_MARKERS[chance.random() < 0.5], coordinator_epoch=3)
        return end_transaction_marker_batch(
            marker, producer_id=7, producer_epoch=1, timestamp_ms=_BASE_TIMESTAMP, base_offset=offset
        )
    builder = RecordBatchBuilder(
        codec=codec,
        timestamp_type=TimestampType(chance.random() < 0.2),
        log_append_time=_BASE_TIMESTAMP,
        base_offset=offset,
        partition_leader_epoch=int(chance.random() * 5) - 1,
        producer_id=producer_id,
        producer_epoch=2 if idempotent else -1,
        base_sequence=int(chance.random() * 100) if idempotent else -1,
        is_transactional=idempotent and chance.random() < 0.3,
    )
    key_size, value_size = int(chance.random() * 8), int(chance.random() ** 3 * 100)
    for _ in range(1 + int(chance.random() ** 2 * 12)):
        plain = chance.random() < 0.7
        builder.append(
            _BASE_TIMESTAMP + int(chance.random() * 300) - 50,
            None if chance.random() < 0.3 else chance.randbytes(key_size),
            None if chance.random() < 0.1 else bytes(value_size),
            () if plain else (("h", b"1"), ("name", None)),
        )
    return builder.build()


def look_at_headers(data: Buffer) -> None:
    """Every batch's header, its checksum, and what a consumer asks of it."""
    for header, batch in iterate_any(data):
        header.last_sequence  # noqa: B018 - it may raise
        try:
            check_any(batch)
        except RecordBatchError:
            continue


def read_every_record(data: Buffer) -> None:
    """Every record of every batch and message, decompressed, and what a control record says. Mirrors a consumer."""
    for header, batch in iterate_any(data):
        for record in read_any(batch, limit_bytes=DECOMPRESSED_BYTES_MAX):
            if header.is_control:
                end_transaction_marker(record)


def walk_every_record(data: Buffer) -> None:
    """Every record of every batch by the walk of a broker that appends it, in each reading; message by message."""
    for header, batch in iterate_any(data):
        if isinstance(header, MessageHeader):
            for message in iterate_messages(batch, limit_bytes=DECOMPRESSED_BYTES_MAX):
                _look_at_message(message)
            continue
        section = records_section(batch, header, limit_bytes=DECOMPRESSED_BYTES_MAX)
        for reading in RecordReading:
            try:
                walk_records(section, header.records_count, reading=reading)
            except RecordBatchError:
                continue


def _look_at_message(message: Message) -> None:
    for look in (message.ensure_valid, message.value_view, message.record):
        try:
            look()
        except RecordBatchError:
            continue


def name_every_byte(data: Buffer) -> None:
    """The annotated view, which refuses no bytes."""
    annotate_record_set(data, limit=_SPANS_MAX)


RECORD_SET_READERS: Final[tuple[Callable[[Buffer], None], ...]] = (
    look_at_headers,
    read_every_record,
    walk_every_record,
    name_every_byte,
)
"""Everything that reads a record set."""
