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
from protocol_specs.records.batch_peek import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD, peek_header
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from protocol_specs.fuzzing.choices import Choices

_INT32_MAX: Final = 2**31 - 1


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
    return NearlyValidBatch(mutate_record_set(batch, mutations(choices, batch)), rule, error)


_Mutations: TypeAlias = Callable[["Choices", bytes], list[Mutation]]


def _other_checksum(choices: Choices, batch: bytes) -> list[Mutation]:
    return [Mutation.set("batch[0].crc", peek_header(batch).crc ^ 1 << choices.below(32))]


def _other_magic(choices: Choices, batch: bytes) -> list[Mutation]:
    del batch
    magic = choices.one_of([magic for magic in range(256) if magic != 2])
    return [Mutation.raw("batch[0].magic", bytes((magic,)))]


def _early_end(choices: Choices, batch: bytes) -> list[Mutation]:
    offset = RECORD_BATCH_OVERHEAD + choices.below(len(batch) - RECORD_BATCH_OVERHEAD)
    return [Mutation.cut("batch[0]", offset=offset, reframe=False)]


def _size_of_no_header(choices: Choices, batch: bytes) -> list[Mutation]:
    del batch
    length = choices.integer(-_INT32_MAX - 1, RECORD_BATCH_OVERHEAD - LOG_OVERHEAD - 1)
    return [Mutation.set("batch[0].batch_length", length)]


def _fewer_records(choices: Choices, batch: bytes) -> list[Mutation]:
    count = choices.integer(peek_header(batch).records_count + 1, _INT32_MAX)
    return [Mutation.set("batch[0].records_count", count)]


def _negative_count(choices: Choices, batch: bytes) -> list[Mutation]:
    del batch
    return [Mutation.set("batch[0].records_count", choices.integer(-_INT32_MAX - 1, -1))]


def _bytes_after_the_records(choices: Choices, batch: bytes) -> list[Mutation]:
    del batch
    data = choices.data(8, 1)
    return [Mutation.lengthen("batch[0]", by=len(data), fill=data)]


def _unknown_codec(choices: Choices, batch: bytes) -> list[Mutation]:
    return [Mutation.set("batch[0].attributes", peek_header(batch).attributes | choices.integer(5, 7))]


def _not_compressed(choices: Choices, batch: bytes) -> list[Mutation]:
    return [
        Mutation.set("batch[0].attributes", peek_header(batch).attributes | CompressionCodec.GZIP),
        Mutation.raw("batch[0].records", b"\0" + choices.data(8)),
    ]


def _wrong_record_length(choices: Choices, batch: bytes) -> list[Mutation]:
    del batch
    length = choices.integer(-_INT32_MAX - 1, -1) if choices.happens(0.5) else choices.integer(10_000, _INT32_MAX)
    return [Mutation.set("batch[0].record[0].length", length)]


_RULES: Final[Mapping[str, tuple[_Mutations, type[RecordBatchError]]]] = {
    "the checksum is another one": (_other_checksum, ChecksumMismatch),
    "the magic is not 2": (_other_magic, UnsupportedMagic),
    "the batch ends early": (_early_end, TruncatedRecordBatch),
    "the size holds no header": (_size_of_no_header, CorruptRecordBatch),
    "there are fewer records than announced": (_fewer_records, InvalidRecord),
    "the number of records is negative": (_negative_count, InvalidRecord),
    "bytes follow after the last record": (_bytes_after_the_records, InvalidRecord),
    "there is no such codec": (_unknown_codec, UnknownCodec),
    "the records are not compressed as announced": (_not_compressed, CorruptCompressedData),
    "a record has a wrong length": (_wrong_record_length, InvalidRecord),
}

BATCH_RULES: Final = tuple(_RULES)
"""Every rule that can be broken."""
