"""The checks of fields, in Kafka's order and with its texts."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.heartbeat_checks import check_heartbeat
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

JOIN = {"rebalance_timeout_ms": 1000, "topic_partitions": [], "subscribed_topic_names": ["a"]}
OWNED = [TopicPartitions(topic_id=b"i" * 16, partitions=[0])]


def refusal(version=1, *, is_preview=False, **fields):
    request = ConsumerGroupHeartbeatRequest(**{"group_id": "g", "member_id": "m", "member_epoch": 0, **fields})
    try:
        check_heartbeat(request, version, ["uniform", "range"], is_preview=is_preview)
    except CoordinatorError as error:
        return error.message
    return None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"group_id": "", "member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " ", "instance_id": "", "rack_id": ""}, "GroupId can't be empty."),
        ({"instance_id": "", "rack_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({}, "RebalanceTimeoutMs must be provided in first request."),
        ({"rebalance_timeout_ms": 1}, "TopicPartitions must be empty when (re-)joining."),
        ({**JOIN, "topic_partitions": OWNED}, "TopicPartitions must be empty when (re-)joining."),
        (
            {**JOIN, "subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({**JOIN, "subscribed_topic_names": []}, None),
        ({**JOIN, "rebalance_timeout_ms": -5}, None),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3, "server_assignor": "x"}, "MemberEpoch is invalid."),
        (
            {**JOIN, "server_assignor": "x"},
            "ServerAssignor x is not supported. Supported assignors: uniform, range.",
        ),
        ({"member_epoch": 5}, None),
    ],
)
def test_the_first_failed_check_is_reported(fields, text):
    assert refusal(**fields) == text


def test_member_ids_may_be_missing_at_a_join_of_version_0():
    assert refusal(0, member_id="", **JOIN) is None
    assert refusal(0, member_id="", member_epoch=-1) == "MemberId can't be empty."
    assert refusal(0, member_id="", member_epoch=-2) == "InstanceId can't be null."


def test_the_preview_has_its_own_order_and_requires_topics():
    assert refusal(0, is_preview=True, member_id="", member_epoch=1, group_id="") == "GroupId can't be empty."
    empty = {**JOIN, "subscribed_topic_names": []}
    assert refusal(0, is_preview=True, **empty) == "SubscribedTopicNames must be set in first request."


def test_an_unknown_assignor_has_an_error_of_its_own():
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, server_assignor="x")
    with pytest.raises(CoordinatorError) as refused:
        check_heartbeat(request, 1, ["uniform"], is_preview=False)
    assert refused.value.error_code is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_an_error_lists_the_assignors_in_the_order_of_a_hash_table():
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, server_assignor="x")
    with pytest.raises(CoordinatorError, match=r"assignors: uniform, range\.$"):
        check_heartbeat(request, 1, ["range", "uniform"], is_preview=False)
