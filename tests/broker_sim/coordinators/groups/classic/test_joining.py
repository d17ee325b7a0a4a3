from broker_sim.coordinators.groups.classic.joining import Joining
from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
from broker_sim.coordinators.groups.client_info import ClientInfo
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.join_group import JoinGroupRequest


def joining(api_version, **fields):
    request = JoinGroupRequest(session_timeout_ms=1, rebalance_timeout_ms=2, **fields)
    return Joining(request, ClientInfo("ann", "/127.0.0.1", api_version), ParkedResponse())


def test_v0_has_no_rebalance_timeout_of_its_own():
    assert [joining(version).rebalance_timeout_ms for version in (0, 1)] == [1, 2]


def test_a_client_without_a_reason_has_not_provided_one():
    assert [joining(8, reason=reason).reason for reason in (None, "", "new topics")] == [
        "not provided",
        "not provided",
        "new topics",
    ]


def test_a_refusal_is_the_response():
    refused = joining(9)
    refused.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, "ann-1")
    assert refused.response.deferred.result.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused.response.deferred.result.member_id == "ann-1"
