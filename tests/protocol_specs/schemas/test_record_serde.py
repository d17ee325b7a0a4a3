"""Types and versions before schema records, as Kafka's serdes write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.errors import MessageDecodeError, ProtocolError, UnknownRecordType, UnsupportedVersion
from protocol_specs.fuzzing import strategies
from protocol_specs.message import Kind, Message
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription
from protocol_specs.schemas.coordinator.consumer_group_member_metadata import ConsumerGroupMemberMetadataValue
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from protocol_specs.schemas.metadata.topic_record import TopicRecord
from protocol_specs.schemas.record_serde import (
    Log,
    decode_key,
    decode_metadata_record,
    decode_value,
    decode_versioned,
    encode_key,
    encode_metadata_record,
    encode_value,
    encode_versioned,
)

SCHEMAS = [registry.schema_type(name) for name in registry.SCHEMA_NAMES]
# From a __consumer_offsets partition of Kafka 4.3.1, and from its __cluster_metadata.
OFFSET_KEY = bytes.fromhex("0001 0001 67 0006 6f7264657273 00000002")
TOPIC_RECORD = bytes.fromhex("01 02 00 07 6f7264657273") + bytes(range(16)) + b"\0"


def of_kind(kind: Kind) -> list[type[Message]]:
    return [cls for cls in SCHEMAS if cls.KIND is kind]


def logs_of(cls: type[Message]) -> list[Log]:
    def reads(log: Log) -> bool:
        try:
            return type(decode_key(log, encode_key(cls()))) is cls
        except ProtocolError:
            return False

    return [log for log in Log if reads(log)]


def test_a_committed_offset_is_read_as_kafka_wrote_it() -> None:
    key = decode_key(Log.CONSUMER_OFFSETS, OFFSET_KEY)
    assert key == OffsetCommitKey(group="g", topic="orders", partition=2)
    assert encode_key(key) == OFFSET_KEY
    value = OffsetCommitValue(offset=7, leader_epoch=3, metadata="m", commit_timestamp=99)
    assert encode_value(value, 3)[:2] == b"\0\3"
    assert decode_value(Log.CONSUMER_OFFSETS, key.RECORD_TYPE, encode_value(value, 3)) == (value, 3)


def test_a_topic_record_is_read_as_kafka_wrote_it() -> None:
    record, version = decode_metadata_record(Log.CLUSTER_METADATA, TOPIC_RECORD)
    assert (record, version) == (TopicRecord(name="orders", topic_id=bytes(range(16))), 0)
    assert encode_metadata_record(record, version) == TOPIC_RECORD


@pytest.mark.parametrize("cls", of_kind(Kind.COORDINATOR_KEY), ids=lambda cls: cls.__name__)
def test_every_key_belongs_to_one_log(cls: type[Message]) -> None:
    assert len(logs_of(cls)) == 1


@given(st.data())
def test_metadata_records_of_both_logs_come_back(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(of_kind(Kind.METADATA)))
    version = data.draw(st.sampled_from(list(cls.VERSIONS)))
    record = data.draw(strategies.message(cls, version))
    log = Log.REMOTE_LOG_METADATA if "remote_log" in cls.__module__ else Log.CLUSTER_METADATA
    assert decode_metadata_record(log, encode_metadata_record(record, version)) == (record, version)


def test_a_newer_subscription_is_read_as_the_newest_known() -> None:
    data = b"\0\x09" + ConsumerProtocolSubscription(topics=["a"], rack_id="r").encode(3) + b"from the future"
    assert decode_versioned(ConsumerProtocolSubscription, data) == (
        ConsumerProtocolSubscription(topics=["a"], rack_id="r"),
        3,
    )
    assert encode_versioned(ConsumerProtocolSubscription(topics=["a"]), 0) == b"\0\0" + b"\0\0\0\1\0\1a\xff\xff\xff\xff"


def test_what_is_unknown_is_refused_by_number() -> None:
    with pytest.raises(UnknownRecordType, match="__transaction_state has no record type 9: its types are 0"):
        decode_key(Log.TRANSACTION_STATE, b"\0\x09")
    with pytest.raises(UnsupportedVersion, match="OffsetCommitValue has no version 77"):
        decode_value(Log.CONSUMER_OFFSETS, 1, b"\0\x4d")
    with pytest.raises(UnsupportedVersion, match="ConsumerProtocolSubscription has no version -1"):
        decode_versioned(ConsumerProtocolSubscription, b"\xff\xff")
    with pytest.raises(MessageDecodeError, match="frame version 2: the only one is 1"):
        decode_metadata_record(Log.CLUSTER_METADATA, b"\x02\x02\x00")


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_by_our_own_errors(data: bytes) -> None:
    for log in Log:
        for read in (decode_key, decode_metadata_record):
            with contextlib.suppress(ProtocolError):
                read(log, data)


def test_a_null_struct_in_a_tagged_field_is_a_varint_of_0() -> None:
    # From __consumer_offsets of Kafka 4.3.1: a member of a consumer group that came by its own protocol.
    data = bytes.fromhex("000000000872646b61666b610b2f3132372e302e302e3102076f726465727301000493e00001000100")
    value, version = decode_value(Log.CONSUMER_OFFSETS, ConsumerGroupMemberMetadataValue.RECORD_TYPE, data)
    assert isinstance(value, ConsumerGroupMemberMetadataValue)
    assert (value.client_id, value.classic_member_metadata) == ("rdkafka", None)
    assert encode_value(value, version) == data
