"""Hypothesis strategies for the protocol: valid values first, then ones broken on purpose.

The only module here that imports Hypothesis (extra `fuzz`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, TimestampType

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.records.record_batch import Header

    _Shape = tuple[bytes | None, bytes | None, tuple[Header, ...]]

BASE_TIMESTAMP: Final = 1_700_000_000_000
"""Where the timestamps of drawn batches lie around."""

# Sizes on both sides of where a varint grows: 63, 64 and 8191, 8192.
_BORDER_SIZES: Final = [0, 1, 62, 63, 64, 65, 127, 128, 8190, 8191, 8192]


def payloads(max_size: int = 200) -> SearchStrategy[bytes]:
    """Keys and values: short ones, and ones around the sizes where a length takes another byte."""
    borders = [size for size in _BORDER_SIZES if size <= max_size]
    return st.one_of(
        st.binary(max_size=min(max_size, 40)),
        st.builds(lambda size, byte: bytes((byte,)) * size, st.sampled_from(borders), st.integers(0, 255)),
    )


def record_headers() -> SearchStrategy[tuple[tuple[str, bytes | None], ...]]:
    """Headers of a record, mostly none."""
    header = st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=16))
    return st.one_of(st.just(()), st.just(()), st.lists(header, max_size=4).map(tuple))


@st.composite
def records(draw: DrawFn, *, max_size: int = 30, max_payload_bytes: int = 200) -> list[Record]:
    """Draw what one batch holds: offsets from 0 without gaps, timestamps that mostly ascend.

    Half of the draws repeat one shape of record, because producers do and because readers take short cuts for it.
    """
    count = draw(st.integers(1, max_size))
    nullable = st.none() | payloads(max_payload_bytes)
    timestamps = draw(
        st.lists(
            st.one_of(st.integers(0, 100), st.integers(-100, 10_000), st.integers(-(10**6), 10**9)),
            min_size=count,
            max_size=count,
        )
    )
    if draw(st.booleans()):
        key, value = draw(nullable), draw(nullable)
        shapes: list[_Shape] = [(key, value, ())] * count
        odd = draw(st.integers(0, count))
        if odd < count:
            shapes[odd] = (draw(nullable), draw(nullable), draw(record_headers()))
        if draw(st.booleans()):
            timestamps = [abs(delta) % 200 for delta in sorted(timestamps)]
    else:
        shapes = [(draw(nullable), draw(nullable), draw(record_headers())) for _ in range(count)]
    return [
        Record(offset=offset, timestamp=BASE_TIMESTAMP + delta, key=key, value=value, headers=headers)
        for offset, (delta, (key, value, headers)) in enumerate(zip(timestamps, shapes, strict=True))
    ]


def codecs() -> SearchStrategy[CompressionCodec]:
    """Every compression codec, none among them."""
    return st.sampled_from(CompressionCodec)


@st.composite
def record_batches(
    draw: DrawFn, *, codec: SearchStrategy[CompressionCodec] | None = None, max_size: int = 30
) -> tuple[bytes, list[Record]]:
    """Draw a sound batch as any producer or broker may write it, and the records that reading it must give."""
    drawn = draw(records(max_size=max_size))
    base_offset = draw(st.integers(0, 2**40))
    timestamp_type = draw(st.sampled_from(TimestampType))
    log_append_time = BASE_TIMESTAMP + draw(st.integers(0, 10**6))
    producer_id = draw(st.one_of(st.just(-1), st.integers(0, 2**40)))
    idempotent = producer_id >= 0
    builder = RecordBatchBuilder(
        codec=draw(codecs() if codec is None else codec),
        timestamp_type=timestamp_type,
        log_append_time=log_append_time,
        base_offset=base_offset,
        partition_leader_epoch=draw(st.integers(-1, 100)),
        producer_id=producer_id,
        producer_epoch=draw(st.integers(0, 2**15 - 1)) if idempotent else -1,
        base_sequence=draw(st.integers(0, 2**31 - 1)) if idempotent else -1,
        is_transactional=idempotent and draw(st.booleans()),
    )
    expected: list[Record] = []
    for record in drawn:
        builder.append(record.timestamp, record.key, record.value, record.headers)
        timestamp = record.timestamp if timestamp_type is TimestampType.CREATE_TIME else log_append_time
        expected.append(
            Record(
                offset=base_offset + record.offset,
                timestamp=timestamp,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
        )
    return builder.build(), expected


@st.composite
def broken_bytes(draw: DrawFn, sound: SearchStrategy[bytes]) -> bytes:
    """Draw sound bytes with a few of them changed, removed, repeated or added."""
    data = bytearray(draw(sound))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(("change", "cut", "insert", "truncate"))):
            case "change":
                data[at : at + 1] = draw(st.sampled_from((b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff")))
            case "cut":
                del data[at : at + draw(st.integers(1, 8))]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
            case _:
                del data[at:]
    return bytes(data)
