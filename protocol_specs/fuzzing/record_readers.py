"""Everything that reads a record set, from the headers to each decompressed record. Mirrors MemoryRecords.

A reader does what a broker or a client does with the bytes of a Records field. It raises nothing but RecordBatchError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import RecordBatchError
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.control_records import end_transaction_marker
from protocol_specs.records.message_peek import MessageHeader
from protocol_specs.records.message_set_reader import iterate_messages
from protocol_specs.records.record_reader import records_section
from protocol_specs.records.record_set import check_any, iterate_any, read_any
from protocol_specs.records.record_spans import annotate_record_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol_specs.message import Buffer
    from protocol_specs.records.message_set_reader import Message

DECOMPRESSED_BYTES_MAX: Final = 64 * 1024
"""The `limit_bytes` of a reader: how many bytes a batch can decompress to."""

_SPANS_MAX: Final = 100


def read_headers(data: Buffer) -> None:
    """Read the header of each batch, its checksum, and what a consumer derives from it."""
    for header, batch in iterate_any(data):
        header.last_sequence  # noqa: B018 - it can raise
        try:
            check_any(batch)
        except RecordBatchError:
            continue


def read_records(data: Buffer) -> None:
    """Read each record of each batch and message, decompressed, and control records. Mirrors a consumer."""
    for header, batch in iterate_any(data):
        for record in read_any(batch, limit_bytes=DECOMPRESSED_BYTES_MAX):
            if header.is_control:
                end_transaction_marker(record)


def walk_batches(data: Buffer) -> None:
    """Walk the records of each batch as a broker does that appends it, in each reading; message by message."""
    for header, batch in iterate_any(data):
        if isinstance(header, MessageHeader):
            for message in iterate_messages(batch, limit_bytes=DECOMPRESSED_BYTES_MAX):
                _read_message(message)
            continue
        section = records_section(batch, header, limit_bytes=DECOMPRESSED_BYTES_MAX)
        for reading in RecordReading:
            try:
                walk_records(section, header.records_count, reading=reading)
            except RecordBatchError:
                continue


def annotate(data: Buffer) -> None:
    """Annotate the fields of the record set; the annotating walk accepts all bytes."""
    annotate_record_set(data, limit=_SPANS_MAX)


def _read_message(message: Message) -> None:
    for read in (message.ensure_valid, message.value_view, message.record):
        try:
            read()
        except RecordBatchError:
            continue


RECORD_SET_READERS: Final[tuple[Callable[[Buffer], None], ...]] = (
    read_headers,
    read_records,
    walk_batches,
    annotate,
)
"""Every reader of record sets."""
