from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest


def test_the_checks_come_in_order(bench):
    api = bench()
    assert api.exchange(HeartbeatRequest(), 4).error_code == ErrorCode.INVALID_GROUP_ID
    assert api.exchange(HeartbeatRequest(group_id="crew"), 4).error_code == ErrorCode.NOT_COORDINATOR
    while api.exchange(FindCoordinatorRequest(key="crew"), 0).error_code:
        api.settle()
    assert api.exchange(HeartbeatRequest(group_id="crew"), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_loading_keeps_its_members(bench):
    api = bench()
    while api.exchange(FindCoordinatorRequest(key="crew"), 0).error_code:
        api.settle()
    runtime = api.cluster.brokers[1].coordinators.groups.runtime
    for partition in runtime.active_partitions:
        runtime.resigned(partition)
        runtime.elected(partition, 9)
    assert api.exchange(HeartbeatRequest(group_id="crew"), 4).error_code == ErrorCode.NONE
