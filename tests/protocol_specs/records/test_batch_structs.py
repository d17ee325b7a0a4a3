"""The construct reference of records against the builder, the reader and Java's record sets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import construct
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.fuzzing import strategies
from protocol_specs.records.batch_structs import MESSAGE, RECORD_BATCH, VARINT, VARLONG
from protocol_specs.records.record_batch import CompressionCodec, check_batch
from protocol_specs.records.record_spans import BATCH_FIELDS
from protocol_specs.records.varints import encode_varint, encode_varlong

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Record

VECTORS = Path(__file__).parents[2] / "data" / "record_batches.jsonl.gz"
HEADER_FIELDS = [name for name, _, _ in BATCH_FIELDS]


@settings(max_examples=150, deadline=None)
@given(strategies.record_batches(codec=CompressionCodec.NONE))
def test_it_reads_what_was_built_and_builds_it_again(drawn: tuple[bytes, list[Record]]) -> None:
    data, records = drawn
    batch = RECORD_BATCH.parse(data)
    assert RECORD_BATCH.build(batch) == data
    header = check_batch(data)
    assert {name: batch[name] for name in HEADER_FIELDS} == {name: getattr(header, name) for name in HEADER_FIELDS}
    assert [(r.key, r.value) for r in batch.records] == [(r.key, r.value) for r in records]
    assert [tuple((h.key, h.value) for h in r.headers) for r in batch.records] == [r.headers for r in records]
    assert [batch.base_offset + r.offset_delta for r in batch.records] == [r.offset for r in records]


@settings(max_examples=30, deadline=None)
@given(strategies.record_batches())
def test_compressed_records_are_bytes(drawn: tuple[bytes, list[Record]]) -> None:
    data, _ = drawn
    batch = RECORD_BATCH.parse(data)
    assert isinstance(batch.records, bytes) == check_batch(data).is_compressed
    assert RECORD_BATCH.build(batch) == data


def test_it_reads_every_record_set_of_java() -> None:
    with gzip.open(VECTORS, "rt") as lines:
        vectors: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for vector in vectors:
        data = bytes.fromhex(vector["hex"])
        entry = construct.Select(RECORD_BATCH, MESSAGE)
        entries = construct.GreedyRange(entry).parse(data)
        assert b"".join(entry.build(one) for one in entries) == data, vector["case"]
        assert [one.magic for one in entries] == [part["magic"] for part in vector["batches"]], vector["case"]


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_varints_are_those_of_the_fast_reader(small: int, large: int) -> None:
    assert VARINT.build(small) == encode_varint(small)
    assert VARLONG.build(large) == encode_varlong(large)
    assert VARINT.parse(encode_varint(small)) == small
    assert VARLONG.parse(encode_varlong(large)) == large


@pytest.mark.parametrize("data", [b"\xff" * 5 + b"\x01", b"\x80"])
def test_a_varint_that_does_not_end_is_refused(data: bytes) -> None:
    with pytest.raises(construct.ConstructError):
        VARINT.parse(data)


@settings(max_examples=100, deadline=None)
@given(strategies.broken_bytes(strategies.record_batches().map(lambda drawn: drawn[0])) | st.binary(max_size=90))
def test_broken_bytes_bring_construct_errors_alone(data: bytes) -> None:
    for reference in (RECORD_BATCH, MESSAGE):
        try:
            reference.parse(data)
        except construct.ConstructError:
            continue
