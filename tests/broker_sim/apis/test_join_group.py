import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.join_group import JoinGroupRequest


def join(api, version=9, **fields):
    request = JoinGroupRequest(**{"group_id": "crew", "session_timeout_ms": 10_000, **fields})
    return api.exchange(request, version)


def test_a_group_needs_an_id(bench):
    refused = join(bench(), group_id="", member_id="ann-1")
    assert (refused.error_code, refused.member_id) == (ErrorCode.INVALID_GROUP_ID, "ann-1")


def test_without_the_topic_no_broker_coordinates(bench):
    refused = join(bench(), member_id="ann-1")
    assert (refused.error_code, refused.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    refused = join(bench(release="3.7"), member_id="ann-1")
    assert (refused.error_code, refused.member_id) == (ErrorCode.NOT_COORDINATOR, "ann-1")


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_is_within_its_limits(bench, session_ms):
    assert join(bench(), session_timeout_ms=session_ms).error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_the_old_coordinator_looks_for_the_group_first(bench):
    assert join(bench(release="3.7"), session_timeout_ms=1).error_code == ErrorCode.NOT_COORDINATOR


def test_a_missing_protocol_is_null_from_v7_on(bench):
    api = bench()
    assert [join(api, version).protocol_name for version in (0, 6, 7)] == ["", "", None]


def test_a_refusal_had_generation_0_before_2_2(bench):
    assert [join(bench(release=release), 2).generation_id for release in ("2.1", "2.2")] == [0, -1]
