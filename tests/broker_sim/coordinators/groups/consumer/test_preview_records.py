"""The records of 3.7's preview of consumer groups."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer import preview_records
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from protocol_specs.schemas.coordinator.consumer_group_preview import PREVIEW_VALUES

T = b"t" * 16
MEMBER = PreviewMember(
    member_id="m",
    member_epoch=3,
    previous_member_epoch=2,
    target_epoch=4,
    client_id="c",
    client_host="/h",
    subscribed_topic_names=frozenset({"x"}),
    rebalance_timeout_ms=1,
    assigned={T: frozenset({0})},
    pending_revocation={T: frozenset({1})},
    pending_assignment={T: frozenset({2})},
)


def body(record: CoordinatorRecord) -> bytes:
    key, value = record.encode()
    assert value is not None
    assert CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, key, value, PREVIEW_VALUES) == record
    return value[2:]


def test_a_member_has_assignors_of_its_client():
    expected = b"\0\0\x02c\x03/h\x02\x02x\x01\0\0\0\1\0\x01\0"
    assert body(preview_records.member_record("g", MEMBER)) == expected


def test_topics_have_an_epoch():
    expected = b"\0\0\0\0\x02" + T + b"\x02x\0\0\0\5\x01\0\0"
    assert body(preview_records.partition_metadata_record("g", {"x": TopicMetadata(T, 5)})) == expected


def test_a_target_has_an_error_and_metadata():
    expected = b"\0\x02" + T + b"\x02\0\0\0\7\0\0\0\x01\0"
    assert body(preview_records.target_record("g", "m", {T: frozenset({7})})) == expected


def test_an_assignment_has_the_epoch_of_its_target_and_what_it_waits_for():
    partitions = b"".join(b"\x02" + T + b"\x02\0\0\0" + bytes([index]) + b"\0" for index in range(3))
    expected = b"\0\0\0\3\0\0\0\2\0\0\0\4" + partitions + b"\0\0\0\x01\0"
    assert body(preview_records.current_assignment_record("g", MEMBER)) == expected
