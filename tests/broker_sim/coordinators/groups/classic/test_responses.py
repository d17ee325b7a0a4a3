from broker_sim.coordinators.groups.classic.responses import as_version, join_refusal
from protocol_specs.error_codes import ErrorCode


def test_a_missing_protocol_is_null_from_v7_on():
    refusal = join_refusal(ErrorCode.UNKNOWN_MEMBER_ID, "ann-1")
    assert as_version(refusal, 6).protocol_name == ""
    assert as_version(refusal, 7).protocol_name is None


def test_the_leader_gets_the_members_and_a_follower_gets_none(bench):
    leader, follower = bench().joined(2)
    assert {member.member_id for member in leader.members} == {leader.member_id, follower.member_id}
    assert follower.members == []
    assert follower.leader == leader.member_id
