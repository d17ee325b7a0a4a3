"""ConsumerGroupHeartbeat before it reaches a group."""

from __future__ import annotations

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def test_a_broker_that_does_not_coordinate_the_group_refuses(bench):
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1)
    response = bench().exchange(request, 1)
    assert (response.error_code, response.error_message) == (ErrorCode.NOT_COORDINATOR, None)
    assert (response.member_id, response.member_epoch, response.assignment) == (None, 0, None)


def test_fields_are_checked_before_the_coordinator(bench):
    response = bench().exchange(ConsumerGroupHeartbeatRequest(group_id="", member_id="m", member_epoch=1), 1)
    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, "GroupId can't be empty.")
