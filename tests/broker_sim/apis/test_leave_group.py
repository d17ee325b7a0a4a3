import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity


@pytest.mark.parametrize("version", [0, 2, 3, 5])
def test_a_group_needs_an_id_and_a_coordinator(bench, version):
    api = bench()
    fields = {"members": [MemberIdentity(member_id="ann-1")]} if version >= 3 else {"member_id": "ann-1"}
    assert api.exchange(LeaveGroupRequest(**fields), version).error_code == ErrorCode.INVALID_GROUP_ID
    refused = api.exchange(LeaveGroupRequest(group_id="crew", **fields), version)
    assert (refused.error_code, refused.members) == (ErrorCode.NOT_COORDINATOR, [])
