"""Strategies for records, record batches and message sets, valid and with one rule broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from protocol_specs.fuzzing.batch_rules import BATCH_RULES, NearlyValidBatch, nearly_valid_batch
from protocol_specs.fuzzing.noise import Noise
from protocol_specs.fuzzing.strategies.drawn_choices import DrawnChoices
from protocol_specs.fuzzing.valid_records import MESSAGE_SET_CODECS, ValidRecords
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from protocol_specs.records.control_records import EndTransactionMarker
    from protocol_specs.records.record_batch import Record


def codecs() -> SearchStrategy[CompressionCodec]:
    """Every compression codec, none among them."""
    return st.sampled_from(CompressionCodec)


def message_set_codecs() -> SearchStrategy[CompressionCodec]:
    """Every codec of message sets."""
    return st.sampled_from(MESSAGE_SET_CODECS)


@st.composite
def records(draw: DrawFn, *, max_size: int = 30, max_payload_bytes: int = 200) -> list[Record]:
    """Draw the records of one batch; see `ValidRecords.records`."""
    return ValidRecords(DrawnChoices(draw)).records(max_size, max_payload_bytes)


@st.composite
def record_batches(
    draw: DrawFn, *, codec: CompressionCodec | None = None, max_size: int = 30
) -> tuple[bytes, list[Record]]:
    """Draw a valid batch as any producer or broker can write it, and the records that a reader returns."""
    return ValidRecords(DrawnChoices(draw)).batch(codec=codec, count_max=max_size)


@st.composite
def control_batches(draw: DrawFn) -> tuple[bytes, EndTransactionMarker]:
    """Draw the batch that ends a transaction, and its marker."""
    return ValidRecords(DrawnChoices(draw)).control_batch()


@st.composite
def message_sets(
    draw: DrawFn, *, magic: int | None = None, base_offset: int | None = None, max_size: int = 30
) -> tuple[bytes, list[Record]]:
    """Draw a message set of magic 0 or 1, and the records that a reader returns."""
    return ValidRecords(DrawnChoices(draw)).message_set(magic=magic, base_offset=base_offset, count_max=max_size)


@st.composite
def record_sets(draw: DrawFn, *, max_sets: int = 4, max_size: int = 8) -> tuple[bytes, list[Record]]:
    """Draw a record set of a partition whose format was raised, and all its records."""
    return ValidRecords(DrawnChoices(draw)).record_set(sets_max=max_sets, count_max=max_size)


@st.composite
def nearly_valid_batches(draw: DrawFn, *, rules: Sequence[str] = BATCH_RULES, max_size: int = 5) -> NearlyValidBatch:
    """Draw a valid, uncompressed batch with one of the rules broken."""
    choices = DrawnChoices(draw)
    rule = choices.one_of(rules)
    batch, _ = ValidRecords(choices).batch(codec=CompressionCodec.NONE, count_max=max_size)
    return nearly_valid_batch(choices, batch, rule)


@st.composite
def broken_bytes(draw: DrawFn, valid: SearchStrategy[bytes]) -> bytes:
    """Draw valid bytes after one to four mutations that know nothing about them."""
    data = draw(valid)
    noise = Noise(DrawnChoices(draw))
    for _ in range(draw(st.integers(1, 4))):
        data, _ = noise.disturb(data)
    return data
