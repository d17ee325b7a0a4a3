"""The annotated view of record sets: every byte has its field, broken ones have their place."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.fuzzing import strategies
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import CompressionCodec, RecordBatchBuilder, read_records
from protocol_specs.records.record_spans import RecordSetSpans, annotate_record_set

VECTORS = Path(__file__).parents[2] / "data" / "record_batches.jsonl.gz"


@cache
def vectors() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def batch(*values: bytes, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    builder = RecordBatchBuilder(codec=codec)
    for value in values:
        builder.append(1_700_000_000_000, b"k", value, (("h", b"x"),))
    return builder.build()


def by_path(found: RecordSetSpans) -> dict[str, Any]:
    return {span.path: span.value for span in found.spans}


def test_every_record_set_of_java_is_covered_without_gaps_or_findings() -> None:
    for vector in vectors():
        data = bytes.fromhex(vector["hex"])
        found = annotate_record_set(data)
        assert (found.fault, found.left_out) == (None, 0), vector["case"]
        assert found.findings == [], vector["case"]
        position = 0
        for span in found.spans:
            if not span.within:
                assert span.start == position, (vector["case"], span)
                position = span.stop
        assert position == len(data), vector["case"]


def test_every_value_of_java_is_found_in_order() -> None:
    for vector in vectors():
        found = annotate_record_set(bytes.fromhex(vector["hex"]))
        values = [
            span.value
            for span in found.spans
            if span.path.endswith(".value") and ".header[" not in span.path and span.type_name == "bytes"
        ]
        expected = [record["value"] for part in vector["batches"] for record in part["records"]]
        assert values == [None if value is None else bytes.fromhex(value) for value in expected], vector["case"]


def test_paths_name_batch_record_and_header() -> None:
    data = b"\xee" * 3 + batch(b"v0") + batch(b"v1", b"v2") + b"\xee"
    found = annotate_record_set(data, 3, len(data) - 1, "topic_data[1].records", base=100)
    record = "topic_data[1].records.batch[1].record[1]"
    values = by_path(found)
    assert values[f"{record}.value"] == b"v2"
    assert values[f"{record}.header[0].key"] == "h"
    assert values[f"{record}.header[0].value"] == b"x"
    span = next(s for s in found.spans if s.path == f"{record}.value")
    assert data[span.start - 100 : span.stop - 100] == b"\x04v2"


@pytest.mark.parametrize("codec", [CompressionCodec.GZIP, CompressionCodec.ZSTD])
def test_compressed_records_have_positions_inside_of_their_section(codec: CompressionCodec) -> None:
    found = annotate_record_set(batch(b"value", codec=codec))
    section = next(s for s in found.spans if s.path == "records.batch[0].records")
    assert section.type_name == f"records, {codec.type_name}"
    inside = [s for s in found.spans if s.within]
    assert {s.within for s in inside} == {"records.batch[0].records"}
    assert inside[0].start == 0
    assert by_path(found)["records.batch[0].record[0].value"] == b"value"


def test_a_wrong_checksum_is_a_finding_and_the_walk_goes_on() -> None:
    data = bytearray(batch(b"v0") + batch(b"v1"))
    data[-1] ^= 1
    found = annotate_record_set(bytes(data), base=10)
    assert found.fault is None
    assert [(f.path, f.position) for f in found.findings] == [("records.batch[1].crc", len(batch(b"v0")) + 17 + 10)]


def test_a_length_that_lies_stops_the_walk_at_its_field() -> None:
    sound = batch(b"v")
    at = next(s for s in annotate_record_set(sound).spans if s.path.endswith(".value"))
    found = annotate_record_set(sound[: at.start] + b"\x7e" + sound[at.start + 1 :])
    assert found.fault is not None
    assert (found.fault.path, found.fault.position) == ("records.batch[0].record[0].value", at.start)
    assert found.fault.reason == "length 63, 6 bytes left"
    assert found.spans[-1].path == "records.batch[0].record[0].key"


def test_a_batch_that_the_record_set_cuts_is_a_finding() -> None:
    found = annotate_record_set(batch(b"v0") + batch(b"v1")[:-2])
    assert found.fault is None
    (finding,) = found.findings
    assert finding.path == "records.batch[1]"
    assert "ends inside of it" in finding.reason
    assert found.spans[-1].type_name == "partial batch"


def test_a_transaction_marker_is_decoded() -> None:
    marker = EndTransactionMarker(control_type=ControlRecordType.COMMIT, coordinator_epoch=7)
    values = by_path(
        annotate_record_set(end_transaction_marker_batch(marker, producer_id=1, producer_epoch=0, timestamp_ms=1))
    )
    assert values["records.batch[0].record[0].key.type"] == ControlRecordType.COMMIT
    assert values["records.batch[0].record[0].value.coordinator_epoch"] == 7


def test_more_spans_than_the_limit_are_counted() -> None:
    whole = annotate_record_set(batch(b"a", b"b"))
    short = annotate_record_set(batch(b"a", b"b"), limit=5)
    assert short.spans == whole.spans[:5]
    assert short.left_out == len(whole.spans) - 5


def test_compressed_records_after_the_limit_are_not_looked_at() -> None:
    bomb = batch(*[b""] * 100, codec=CompressionCodec.GZIP)
    found = annotate_record_set(bomb, limit=22)
    assert len(found.spans) == 22
    assert 99 <= found.left_out <= 99 + 8
    assert (found.findings, found.fault) == ([], None)


@settings(max_examples=100, deadline=None)
@given(strategies.record_batches())
def test_spans_hold_what_the_reader_reads(drawn: tuple[bytes, list[Any]]) -> None:
    data, _ = drawn
    values = by_path(annotate_record_set(data))
    for index, record in enumerate(read_records(data)):
        assert values[f"records.batch[0].record[{index}].key"] == record.key
        assert values[f"records.batch[0].record[{index}].value"] == record.value


@settings(max_examples=100, deadline=None)
@given(strategies.broken_bytes(strategies.record_batches().map(lambda drawn: drawn[0])) | st.binary(max_size=90))
def test_broken_bytes_never_raise_and_are_covered_up_to_the_fault(data: bytes) -> None:
    found = annotate_record_set(data)
    position = 0
    for span in found.spans:
        if not span.within:
            assert span.start == position
            position = span.stop
    assert position == len(data) or found.fault is not None
