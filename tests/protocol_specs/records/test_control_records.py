from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from protocol_specs.errors import InvalidRecord
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    control_record_type,
    end_transaction_marker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import Record, peek_header, read_records

VECTORS = {
    vector["case"]: bytes.fromhex(vector["hex"])
    for vector in map(
        json.loads,
        gzip.decompress((Path(__file__).parents[2] / "data" / "record_batches.jsonl.gz").read_bytes()).splitlines(),
    )
}


@pytest.mark.parametrize(
    ("case", "control_type", "timestamp_ms"),
    [
        ("commit marker", ControlRecordType.COMMIT, 1_700_000_000_123),
        ("abort marker", ControlRecordType.ABORT, 1_700_000_000_124),
    ],
)
def test_markers_are_the_bytes_of_kafka(case: str, control_type: ControlRecordType, timestamp_ms: int) -> None:
    batch = VECTORS[case]
    marker = EndTransactionMarker(control_type=control_type, coordinator_epoch=9)
    assert end_transaction_marker(read_records(batch)[0]) == marker
    assert marker.is_commit == (control_type is ControlRecordType.COMMIT)
    written = end_transaction_marker_batch(
        marker,
        producer_id=4321,
        producer_epoch=2,
        timestamp_ms=timestamp_ms,
        base_offset=peek_header(batch).base_offset,
        partition_leader_epoch=3,
    )
    assert written == batch


@pytest.mark.parametrize(
    ("case", "control_type"),
    [
        ("leader change", ControlRecordType.LEADER_CHANGE),
        ("snapshot header", ControlRecordType.SNAPSHOT_HEADER),
        ("snapshot footer", ControlRecordType.SNAPSHOT_FOOTER),
    ],
)
def test_the_other_kinds_are_told_apart_and_end_no_transaction(case: str, control_type: ControlRecordType) -> None:
    record = read_records(VECTORS[case])[0]
    assert control_record_type(record) is control_type
    with pytest.raises(InvalidRecord, match=f"{control_type.name} ends no transaction"):
        end_transaction_marker(record)


def record(key: str | None, value: str | None = "000000000009") -> Record:
    return Record(
        offset=0,
        timestamp=0,
        key=None if key is None else bytes.fromhex(key),
        value=None if value is None else bytes.fromhex(value),
    )


def test_higher_versions_and_unknown_types_are_accepted() -> None:
    assert control_record_type(record("000500630000")) is ControlRecordType.UNKNOWN
    marker = end_transaction_marker(record("00030001ff", "00020000000700ff"))
    assert (marker.is_commit, marker.coordinator_epoch) == (True, 7)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (None, "", "key of 0 bytes"),
        ("0000", "", "key of 2 bytes"),
        ("ffff0000", "", "key version -1"),
        ("00000000", None, "marker of 0 bytes"),
        ("00000000", "0000000000", "marker of 5 bytes"),
        ("00000000", "ffff00000000", "marker version -1"),
    ],
)
def test_control_records_that_do_not_fit_are_refused(key: str | None, value: str | None, words: str) -> None:
    with pytest.raises(InvalidRecord, match=words):
        end_transaction_marker(record(key, value))
