"""Record batches with one rule broken, and the error that reading them must end in; and sound control batches.

Reading means what a broker does before it looks into records, then what a consumer does: `check_batch`, then
`read_records`. What the rules of an append are (offsets without gaps, say) is the matter of a broker's validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from protocol_specs.errors import (
    ChecksumMismatch,
    CorruptCompressedData,
    CorruptRecordBatch,
    InvalidRecord,
    RecordBatchError,
    TruncatedRecordBatch,
    UnknownCodec,
    UnsupportedMagic,
)
from protocol_specs.records.batch_builder import encode_record_body
from protocol_specs.records.batch_peek import (
    COMPRESSION_CODEC_MASK,
    CRC_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_BATCH_OVERHEAD,
    peek_header,
)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import seal_batch
from protocol_specs.records.varints import encode_varint
from protocol_specs.strategies.near_misses import shown
from protocol_specs.strategies.records import BASE_TIMESTAMP, record_batches

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


class NearlyValidBatch(NamedTuple):
    """A batch's bytes, the one rule that they break, and the error of the first reader that sees it."""

    data: bytes
    rule: str
    error: type[RecordBatchError]

    def __repr__(self) -> str:
        return f"NearlyValidBatch({shown(self.data)}, {self.rule!r}, {self.error.__name__})"


@st.composite
def control_batches(draw: DrawFn) -> tuple[bytes, EndTransactionMarker]:
    """Draw the batch that ends a transaction, and what it says."""
    marker = EndTransactionMarker(
        control_type=draw(st.sampled_from((ControlRecordType.ABORT, ControlRecordType.COMMIT))),
        coordinator_epoch=draw(st.integers(0, 2**31 - 1)),
    )
    batch = end_transaction_marker_batch(
        marker,
        producer_id=draw(st.integers(0, 2**40)),
        producer_epoch=draw(st.integers(0, 2**15 - 1)),
        timestamp_ms=BASE_TIMESTAMP,
        base_offset=draw(st.integers(0, 2**40)),
        partition_leader_epoch=draw(st.integers(-1, 100)),
    )
    return batch, marker


@st.composite
def nearly_valid_batches(draw: DrawFn, *, max_size: int = 5) -> NearlyValidBatch:
    """Draw a sound, uncompressed batch and break one rule of it; the checksum stays right but where it is the rule."""
    batch, _ = draw(record_batches(codec=st.just(CompressionCodec.NONE), max_size=max_size))
    rule = draw(st.sampled_from(BATCH_RULES))
    breaker, error = _RULES[rule]
    return NearlyValidBatch(breaker(draw, batch), rule, error)


_Breaker: TypeAlias = Callable[["DrawFn", bytes], bytes]


def _with_records(batch: bytes, records: bytes, *, count: int | None = None, codec: int = 0) -> bytes:
    header = peek_header(batch)
    return seal_batch(
        records,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & ~COMPRESSION_CODEC_MASK | codec,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=header.records_count if count is None else count,
    )


def _other_checksum(draw: DrawFn, batch: bytes) -> bytes:
    bit = draw(st.integers(0, 31))
    crc = int.from_bytes(batch[CRC_OFFSET : CRC_OFFSET + 4], "big") ^ 1 << bit
    return batch[:CRC_OFFSET] + crc.to_bytes(4, "big") + batch[CRC_OFFSET + 4 :]


def _other_magic(draw: DrawFn, batch: bytes) -> bytes:
    magic = draw(st.integers(0, 255).filter(lambda drawn: drawn != 2))
    return batch[:MAGIC_OFFSET] + bytes((magic,)) + batch[MAGIC_OFFSET + 1 :]


def _cut(draw: DrawFn, batch: bytes) -> bytes:
    return batch[: draw(st.integers(RECORD_BATCH_OVERHEAD, len(batch) - 1))]


def _size_of_no_header(draw: DrawFn, batch: bytes) -> bytes:
    length = draw(st.integers(-(2**31), RECORD_BATCH_OVERHEAD - LOG_OVERHEAD - 1))
    return batch[:8] + length.to_bytes(4, "big", signed=True) + batch[LOG_OVERHEAD:]


def _more_records_than_come(draw: DrawFn, batch: bytes) -> bytes:
    count = peek_header(batch).records_count
    return _with_records(batch, batch[RECORD_BATCH_OVERHEAD:], count=draw(st.integers(count + 1, 2**31 - 1)))


def _negative_count(draw: DrawFn, batch: bytes) -> bytes:
    return _with_records(batch, batch[RECORD_BATCH_OVERHEAD:], count=draw(st.integers(-(2**31), -1)))


def _bytes_after_the_records(draw: DrawFn, batch: bytes) -> bytes:
    return _with_records(batch, batch[RECORD_BATCH_OVERHEAD:] + draw(st.binary(min_size=1, max_size=8)))


def _no_such_codec(draw: DrawFn, batch: bytes) -> bytes:
    return _with_records(batch, batch[RECORD_BATCH_OVERHEAD:], codec=draw(st.integers(5, 7)))


def _no_gzip(draw: DrawFn, batch: bytes) -> bytes:
    return _with_records(batch, b"\0" + draw(st.binary(max_size=8)), codec=CompressionCodec.GZIP)


def _wrong_record_length(draw: DrawFn, batch: bytes) -> bytes:
    body = encode_record_body(0, 0, b"key", b"value")
    length = draw(st.integers(-(2**31), 2**31 - 1).filter(lambda drawn: drawn != len(body)))
    return _with_records(batch, encode_varint(length) + body, count=1)


_RULES: Final[Mapping[str, tuple[_Breaker, type[RecordBatchError]]]] = {
    "the checksum is another one": (_other_checksum, ChecksumMismatch),
    "the magic is not 2": (_other_magic, UnsupportedMagic),
    "the batch ends early": (_cut, TruncatedRecordBatch),
    "the size holds no header": (_size_of_no_header, CorruptRecordBatch),
    "there are fewer records than announced": (_more_records_than_come, InvalidRecord),
    "the number of records is negative": (_negative_count, InvalidRecord),
    "bytes follow after the last record": (_bytes_after_the_records, InvalidRecord),
    "there is no such codec": (_no_such_codec, UnknownCodec),
    "the records are not compressed as announced": (_no_gzip, CorruptCompressedData),
    "a record has a wrong length": (_wrong_record_length, InvalidRecord),
}

BATCH_RULES: Final = tuple(_RULES)
"""Every rule that is broken here."""
