"""Strategies for message sets of magic 0 and 1, and for record sets that mix the magics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from protocol_specs.records.batch_peek import NO_TIMESTAMP, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.strategies.records import BASE_TIMESTAMP, codecs, records

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.records.record_batch import Record


def message_set_codecs() -> SearchStrategy[CompressionCodec]:
    """Every codec of message sets, which zstd came too late for."""
    return codecs().filter(lambda codec: codec is not CompressionCodec.ZSTD)


@st.composite
def message_sets(
    draw: DrawFn, *, magic: int | None = None, base_offset: int | None = None, max_size: int = 30
) -> tuple[bytes, list[Record]]:
    """Draw a message set, one wrapper if it is compressed, and the records that a reader must find in it.

    Offsets may have gaps. In magic 0 there are no timestamps; with LogAppendTime all are the broker's.
    """
    magic = draw(st.integers(0, 1)) if magic is None else magic
    codec = draw(message_set_codecs())
    timestamp_type = draw(st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]))
    base_offset = draw(st.integers(0, 2**40)) if base_offset is None else base_offset
    builder = MessageSetBuilder(
        magic=magic,
        codec=codec,
        timestamp_type=timestamp_type,
        log_append_time=BASE_TIMESTAMP,
        base_offset=base_offset,
    )
    # The attributes of what lies in a wrapper say who set the timestamp, too.
    appended_by_broker = magic == 1 and timestamp_type is TimestampType.LOG_APPEND_TIME
    expected: list[Record] = []
    offset = base_offset
    for record in draw(records(max_size=max_size)):
        builder.append_with_offset(offset, record.timestamp, record.key, record.value)
        timestamp = BASE_TIMESTAMP if appended_by_broker else record.timestamp
        expected.append(
            replace(
                record,
                offset=offset,
                timestamp=NO_TIMESTAMP if magic == 0 else timestamp,
                headers=(),
                attributes=8 if appended_by_broker else 0,
            )
        )
        offset += draw(st.sampled_from([1, 1, 1, 2, 100]))
    return builder.build(), expected


@st.composite
def record_sets(draw: DrawFn, *, max_sets: int = 4, max_size: int = 8) -> tuple[bytes, list[Record]]:
    """Draw what a partition may hold whose format was raised: message sets, then batches, and all their records."""
    parts: list[bytes] = []
    expected: list[Record] = []
    offset = draw(st.integers(0, 1000))
    for magic in sorted(draw(st.lists(st.integers(0, 2), min_size=1, max_size=max_sets))):
        if magic < 2:
            part, found = draw(message_sets(magic=magic, base_offset=offset, max_size=max_size))
        else:
            builder = RecordBatchBuilder(codec=draw(codecs()), base_offset=offset)
            drawn = draw(records(max_size=max_size))
            for record in drawn:
                builder.append(record.timestamp, record.key, record.value, record.headers)
            part = builder.build()
            found = [replace(record, offset=offset + index) for index, record in enumerate(drawn)]
        parts.append(part)
        expected += found
        offset = expected[-1].offset + draw(st.sampled_from([1, 5]))
    return b"".join(parts), expected
