"""Rules of a record batch that bytes can break, one at a time, and the error that reading the result must end in.

Reading is what a broker does before it looks into records, then what a consumer does: `check_batch`, then
`read_records`. The rules of an append (offsets without gaps, for example) are checked by a broker's validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

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
from protocol_specs.fuzzing.mutations import Mutation, mutate_record_set
from protocol_specs.fuzzing.rules import shown
from protocol_specs.records.batch_peek import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD, BatchHeader, peek_header
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from protocol_specs.fuzzing.choices import Choices

_INT32_MAX: Final = 2**31 - 1
_HEADER_LENGTH: Final = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD


class NearlyValidBatch(NamedTuple):
    """The bytes of a batch, the one rule that they break, and the error of the first reader that finds it."""

    data: bytes
    rule: str
    error: type[RecordBatchError]

    def __repr__(self) -> str:
        return f"NearlyValidBatch({shown(self.data)}, {self.rule!r}, {self.error.__name__})"


def nearly_valid_batch(choices: Choices, batch: bytes, rule: str) -> NearlyValidBatch:
    """A valid, uncompressed batch with one of BATCH_RULES broken; the checksum is right unless it is the rule."""
    mutations, error = _RULES[rule]
    return NearlyValidBatch(mutate_record_set(batch, mutations(choices, peek_header(batch))), rule, error)


_Mutations: TypeAlias = Callable[["Choices", BatchHeader], list[Mutation]]


def _set(name: str, value: int) -> list[Mutation]:
    return [Mutation.set(f"batch[0].{name}", value)]


def _early_end(choices: Choices, header: BatchHeader) -> list[Mutation]:
    offset = RECORD_BATCH_OVERHEAD + choices.below(header.size_in_bytes - RECORD_BATCH_OVERHEAD)
    return [Mutation.cut("batch[0]", offset=offset, reframe=False)]


def _bytes_after_the_records(choices: Choices, header: BatchHeader) -> list[Mutation]:
    del header
    data = choices.data(8, 1)
    return [Mutation.lengthen("batch[0]", by=len(data), fill=data)]


def _not_compressed(choices: Choices, header: BatchHeader) -> list[Mutation]:
    records = Mutation.raw("batch[0].records", b"\0" + choices.data(8))
    return [*_set("attributes", header.attributes | CompressionCodec.GZIP), records]


def _wrong_record_length(choices: Choices, header: BatchHeader) -> list[Mutation]:
    del header
    return _set("record[0].length", choices.integer(*choices.one_of(((-_INT32_MAX - 1, -1), (10_000, _INT32_MAX)))))


_RULES: Final[Mapping[str, tuple[_Mutations, type[RecordBatchError]]]] = {
    "the checksum is another one": (
        lambda choices, header: _set("crc", header.crc ^ 1 << choices.below(32)),
        ChecksumMismatch,
    ),
    "the magic is not 2": (
        lambda choices, _: _set("magic", choices.one_of([magic for magic in range(-128, 128) if magic != 2])),
        UnsupportedMagic,
    ),
    "the batch ends early": (_early_end, TruncatedRecordBatch),
    "the size holds no header": (
        lambda choices, _: _set("batch_length", choices.integer(-_INT32_MAX - 1, _HEADER_LENGTH - 1)),
        CorruptRecordBatch,
    ),
    "there are fewer records than announced": (
        lambda choices, header: _set("records_count", choices.integer(header.records_count + 1, _INT32_MAX)),
        InvalidRecord,
    ),
    "the number of records is negative": (
        lambda choices, _: _set("records_count", choices.integer(-_INT32_MAX - 1, -1)),
        InvalidRecord,
    ),
    "bytes follow after the last record": (_bytes_after_the_records, InvalidRecord),
    "there is no such codec": (
        lambda choices, header: _set("attributes", header.attributes | choices.integer(5, 7)),
        UnknownCodec,
    ),
    "the records are not compressed as announced": (_not_compressed, CorruptCompressedData),
    "a record has a wrong length": (_wrong_record_length, InvalidRecord),
}

BATCH_RULES: Final = tuple(_RULES)
"""Every rule that can be broken."""
