from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import InvalidRecord, MessageDecodeError, RecordBatchError
from protocol_specs.records.control_records import (
    QUORUM_MESSAGES,
    ControlRecordType,
    EndTransactionMarker,
    control_record_type,
    control_record_value,
    end_transaction_marker,
    end_transaction_marker_batch,
    marker_of_batch,
    quorum_control_batch,
)
from protocol_specs.records.record_batch import Record, empty_batch, peek_header, read_records
from protocol_specs.schemas.k_raft_version_record import KRaftVersionRecord
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage
from protocol_specs.schemas.leader_change_message import Voter as Granting
from protocol_specs.schemas.snapshot_footer_record import SnapshotFooterRecord
from protocol_specs.schemas.snapshot_header_record import SnapshotHeaderRecord
from protocol_specs.schemas.voters_record import Endpoint, KRaftVersionFeature, Voter, VotersRecord

if TYPE_CHECKING:
    from collections.abc import Callable

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


def test_a_batch_that_compaction_has_emptied_has_no_marker() -> None:
    header = peek_header(VECTORS["commit marker"])
    assert marker_of_batch(empty_batch(header)) is None


@given(
    control_type=st.sampled_from([ControlRecordType.ABORT, ControlRecordType.COMMIT]),
    epoch=st.integers(0, 2**31 - 1),
    changes=st.lists(st.tuples(st.integers(0, 77), st.integers(0, 255)), max_size=2),
    cut=st.integers(0, 3),
    more=st.binary(max_size=2),
)
def test_the_marker_of_a_batch_is_that_of_its_first_record(
    control_type: ControlRecordType, epoch: int, changes: list[tuple[int, int]], cut: int, more: bytes
) -> None:
    marker = EndTransactionMarker(control_type=control_type, coordinator_epoch=epoch)
    data = bytearray(end_transaction_marker_batch(marker, producer_id=1, producer_epoch=2, timestamp_ms=3))
    for place, octet in changes:
        data[place] = octet
    batch = bytes(data)[: len(data) - cut] + more

    def outcome(read: Callable[[bytes], object]) -> object:
        try:
            return read(batch)
        except RecordBatchError as error:
            return str(error)

    def of_first(batch: bytes) -> EndTransactionMarker | None:
        records = read_records(batch)
        return end_transaction_marker(records[0]) if records else None

    assert outcome(marker_of_batch) == outcome(of_first)


@pytest.mark.parametrize(
    ("case", "control_type"),
    [
        ("leader change", ControlRecordType.LEADER_CHANGE),
        ("snapshot header", ControlRecordType.SNAPSHOT_HEADER),
        ("snapshot footer", ControlRecordType.SNAPSHOT_FOOTER),
    ],
)
def test_the_other_kinds_are_distinguished_and_end_no_transaction(case: str, control_type: ControlRecordType) -> None:
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


@pytest.mark.parametrize("case", ["leader change", "snapshot header", "snapshot footer"])
def test_what_raft_writes_is_read_and_written_as_kafka_does(case: str) -> None:
    batch = VECTORS[case]
    header = peek_header(batch)
    values = [control_record_value(record) for record in read_records(batch)]
    messages = [value for value in values if not isinstance(value, EndTransactionMarker)]
    assert len(messages) == header.records_count == 1
    written = quorum_control_batch(
        messages,
        timestamp_ms=header.base_timestamp,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
    )
    assert written == batch


def test_every_kind_of_raft_comes_back_from_one_batch() -> None:
    voter = Voter(
        voter_id=1,
        voter_directory_id=bytes(16),
        endpoints=[Endpoint(name="CONTROLLER", host="localhost", port=9093)],
        k_raft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )
    messages = [
        SnapshotHeaderRecord(version=0, last_contained_log_timestamp=99),
        KRaftVersionRecord(version=0, k_raft_version=1),
        VotersRecord(version=0, voters=[voter]),
        LeaderChangeMessage(version=0, leader_id=1, voters=[Granting(voter_id=1)], granting_voters=[]),
        SnapshotFooterRecord(version=0),
    ]
    records = read_records(quorum_control_batch(messages, timestamp_ms=5, partition_leader_epoch=3))
    assert [control_record_value(record) for record in records] == messages
    assert {control_record_type(record).name for record in records} == {kind.name for kind in QUORUM_MESSAGES}


def test_a_marker_is_a_value_too() -> None:
    [commit] = read_records(VECTORS["commit marker"])
    assert control_record_value(commit) == end_transaction_marker(commit)


def test_unknown_control_records_are_refused() -> None:
    with pytest.raises(InvalidRecord, match="UNKNOWN has no value that is known"):
        control_record_value(record("00000063"))
    with pytest.raises(InvalidRecord, match="LEADER_CHANGE has no value"):
        control_record_value(record("00000002", None))
    with pytest.raises(MessageDecodeError, match="LeaderChangeMessage"):
        control_record_value(record("00000002", "0000"))
    with pytest.raises(ValueError, match="needs a partition leader epoch"):
        quorum_control_batch([LeaderChangeMessage()], timestamp_ms=0)
    with pytest.raises(ValueError, match="Endpoint is no control record"):
        quorum_control_batch([Endpoint()], timestamp_ms=0)  # type: ignore[list-item]
