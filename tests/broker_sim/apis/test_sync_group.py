from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.sync_group import SyncGroupRequest


def test_v5_needs_a_protocol_before_a_group(bench):
    api = bench()
    assert api.exchange(SyncGroupRequest(), 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert api.exchange(SyncGroupRequest(), 4).error_code == ErrorCode.INVALID_GROUP_ID


def test_without_the_topic_no_broker_coordinates(bench):
    refused = bench().exchange(SyncGroupRequest(group_id="crew", member_id="ann-1"), 3)
    assert (refused.error_code, refused.assignment) == (ErrorCode.NOT_COORDINATOR, b"")
