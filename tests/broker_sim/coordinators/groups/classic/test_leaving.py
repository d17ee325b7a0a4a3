from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leave_group import LeaveGroupRequest
from tests.broker_sim.coordinators.groups.classic.group_bench import GROUP

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def test_each_member_has_a_result_of_its_own(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    assert crew.leave((follower.member_id, None), ("ann-1", None)) == [0, UNKNOWN]
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS


def test_another_member_leads_when_the_leader_leaves(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    crew.leave((leader.member_id, None))
    again = crew.join(follower.member_id).response
    assert (again.leader, again.generation_id) == (follower.member_id, 2)


def test_a_group_is_empty_when_all_have_left(bench):
    crew = bench()
    crew.stable(2)
    assert crew.leave(*[(member_id, None) for member_id in crew.group.members]) == [0, 0]
    assert crew.states() == ("Empty", 2)


def test_an_administrator_removes_static_members_by_instance(bench):
    crew = bench()
    crew.stable(2, instances=["one", "two"])
    assert crew.leave(("", "two"), ("", "three"), ("", None)) == [0, UNKNOWN, UNKNOWN]


def test_a_static_member_leaves_with_its_own_id_alone(bench):
    crew = bench()
    leader, _ = crew.stable(2, instances=["one", "two"])
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert crew.leave((leader.member_id, "two"), (leader.member_id, "three")) == [fenced, UNKNOWN]


def test_a_parked_member_that_leaves_gets_a_response(bench):
    crew = bench()
    leader, _ = crew.stable(2)
    parked = crew.join(leader.member_id)
    crew.leave((leader.member_id, None))
    assert (parked.response.error_code, parked.response.member_id) == (UNKNOWN, "")


def test_an_unused_id_that_leaves_begins_a_rebalance_in_the_new_coordinator_alone(bench):
    def state_after_leave(release):
        crew = bench(release=release)
        crew.stable(1)
        pending = crew.join().response.member_id
        assert crew.leave((pending, None)) == [0]
        return crew.states()[0]

    assert state_after_leave("4.3.1") == "PreparingRebalance"
    assert state_after_leave("3.7") == "Stable"


def test_the_old_coordinator_removes_members_one_after_another(bench):
    def parked_response(release):
        crew = bench(release=release)
        leader, follower = crew.stable(2)
        parked = crew.join(leader.member_id)
        crew.leave((follower.member_id, None), (leader.member_id, None))
        return parked.response.error_code

    assert parked_response("4.3.1") == UNKNOWN
    assert parked_response("3.7") == 0


def test_a_group_that_does_not_exist_does_not_know_its_members(bench):
    crew = bench()
    assert crew.leave(("ann-1", "one")) == [UNKNOWN]
    single = LeaveGroupRequest(group_id=GROUP, member_id="ann-1")
    assert crew.call(single, 2).error_code == UNKNOWN
