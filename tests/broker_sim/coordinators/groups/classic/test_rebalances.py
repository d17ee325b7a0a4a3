import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.broker_sim.coordinators.groups.classic.group_bench import GROUP, REBALANCE_MS, SESSION_MS

DELAY = {"group.initial.rebalance.delay.ms": "3000"}


def test_the_first_generation_waits_for_the_initial_delay(bench):
    crew = bench(config=DELAY)
    joined = crew.new_member()
    crew.run(2_900)
    assert joined.response is None
    crew.run(200)
    assert joined.response.generation_id == 1


def test_members_that_arrive_extend_the_initial_delay(bench):
    crew = bench(config=DELAY)
    first = crew.new_member()
    crew.run(2_000)
    second = crew.new_member()
    crew.run(2_000)
    assert first.response is None
    crew.run(2_000)
    assert first.response.generation_id == second.response.generation_id == 1


def test_the_initial_delay_ends_with_the_rebalance_timeout(bench):
    crew = bench(config=DELAY)
    first = crew.new_member(rebalance_ms=7_000)
    waited_ms = 0
    while first.response is None:
        crew.new_member(rebalance_ms=7_000)
        crew.run(500)
        waited_ms += 500
    assert 6_000 < waited_ms <= 7_500


def test_a_release_without_the_initial_delay_responds_at_once(bench):
    assert bench(release="0.10.2").join(version=1).response.generation_id == 1


def test_members_that_do_not_join_in_time_are_removed(bench):
    crew = bench()
    leader, follower = crew.stable(2, session_ms=60_000)
    rejoined = crew.join(leader.member_id, session_ms=60_000)
    crew.run(REBALANCE_MS - 100)
    assert rejoined.response is None
    crew.run(200)
    assert rejoined.response.generation_id == 2
    assert [member.member_id for member in rejoined.response.members] == [leader.member_id]
    assert crew.heartbeat(follower) == ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_that_do_not_join_in_time_stay(bench):
    crew = bench()
    leader, follower = crew.stable(2, instances=["one", "two"], session_ms=60_000)
    rejoined = crew.join(leader.member_id, instance="one", session_ms=60_000)
    crew.run(REBALANCE_MS + 100)
    assert {member.member_id for member in rejoined.response.members} == {leader.member_id, follower.member_id}


def test_an_absent_leader_is_replaced(bench):
    crew = bench()
    leader, follower = crew.stable(2, instances=["one", "two"], session_ms=60_000)
    rejoined = crew.join(follower.member_id, instance="two", session_ms=60_000, protocols=[("range", b"other")])
    crew.run(REBALANCE_MS + 100)
    assert rejoined.response.leader == follower.member_id
    assert leader.member_id in crew.group.members


def test_a_join_phase_without_any_member_is_repeated(bench):
    crew = bench()
    _, follower = crew.stable(2, instances=["one", None], session_ms=100_000)
    crew.leave((follower.member_id, None))
    crew.run(REBALANCE_MS * 2 + 100)
    assert crew.states() == ("PreparingRebalance", 1)
    crew.run(100_000)
    assert crew.states()[0] == "Empty"


def test_members_that_do_not_sync_in_time_are_removed(bench):
    crew = bench()
    leader, follower = crew.joined(2, session_ms=60_000)
    waiting = crew.sync(follower)
    crew.run(REBALANCE_MS + 100)
    assert waiting.response.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(crew.group.members) == [follower.member_id]
    assert leader.member_id not in crew.group.members


def test_a_release_before_3_0_waits_for_sync_without_end(bench):
    crew = bench(release="2.8")
    leader, follower = crew.joined(2, session_ms=60_000, version=7)
    waiting = crew.sync(follower)
    crew.run(REBALANCE_MS + 100)
    assert waiting.response is None
    assert leader.member_id in crew.group.members


def test_a_member_whose_session_ends_begins_a_rebalance(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    crew.run(SESSION_MS - 1_000)
    crew.heartbeat(leader)
    crew.run(2_000)
    assert crew.heartbeat(follower) == ErrorCode.UNKNOWN_MEMBER_ID
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_parked_request_keeps_the_session(bench):
    crew = bench()
    leader, follower = crew.joined(2, rebalance_ms=60_000)
    waiting = crew.sync(follower)
    for _ in range(3):
        crew.run(SESSION_MS - 1_000)
        crew.heartbeat(leader)
    assert waiting.response is None
    assert follower.member_id in crew.group.members


def test_a_parked_newcomer_is_dropped_after_five_minutes(bench):
    crew = bench()
    minutes = 60_000
    leader = crew.stable(1, session_ms=20 * minutes, rebalance_ms=20 * minutes)[0]
    parked = crew.new_member(session_ms=6_000)
    crew.run(5 * minutes - 1_000)
    assert parked.response is None
    crew.run(2_000)
    assert (parked.response.error_code, parked.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_ends_with_its_last_member_before_0_10_1(bench):
    crew = bench(release="0.10.0")
    crew.join(version=0)
    crew.run(SESSION_MS + 100)
    assert crew.join("ann-1", version=0).response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(CoordinatorError, match="not found"):
        assert crew.group


def test_unused_ids_do_not_hold_up_a_group_without_members(bench):
    crew = bench(release="3.7")
    leader = crew.stable(1)[0]
    crew.join()
    crew.send(LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=leader.member_id)]), 4)
    assert crew.states() == ("Empty", 2)
