from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from tests.broker_sim.coordinators.groups.classic.group_bench import GROUP, subscription


def described(crew, version=5, name=GROUP):
    [group] = crew.call(DescribeGroupsRequest(groups=[name]), version).groups
    return group


def test_a_stable_group_shows_metadata_and_assignments(bench):
    crew = bench()
    leader = crew.stable(1, instances=["one"])[0]
    group = described(crew)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    [member] = group.members
    assert (member.member_id, member.group_instance_id) == (leader.member_id, "one")
    assert (member.client_id, member.client_host) == ("ann", "/127.0.0.1")
    assert member.member_metadata == subscription("t")
    assert member.member_assignment == b"of " + leader.member_id.encode()


def test_only_the_old_coordinator_hides_assignments_in_a_rebalance(bench):
    def assignment(release):
        crew = bench(release=release)
        leader, follower = crew.stable(2)
        crew.join(leader.member_id)
        group = described(crew)
        assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
        assert {member.member_metadata for member in group.members} == {b""}
        return next(each.member_assignment for each in group.members if each.member_id == follower.member_id)

    assert assignment("4.3.1").startswith(b"of ann-")
    assert assignment("3.7") == b""


def test_an_unknown_group_is_dead_and_an_error_from_v6_on(bench):
    crew = bench()
    old, new = described(crew, 5, "absent"), described(crew, 6, "absent")
    assert (old.error_code, old.group_state) == (0, "Dead")
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert new.error_message == "Group absent not found."


def test_the_state_of_an_awaited_assignment_had_another_name_before_1_1(bench):
    def state(release):
        crew = bench(release=release)
        crew.join(version=2)
        crew.run(100)
        return described(crew, 0).group_state

    assert (state("1.0"), state("1.1")) == ("AwaitingSync", "CompletingRebalance")
