from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.groups.classic.group_bench import GROUP, REBALANCE_MS, SESSION_MS, subscription


def test_a_member_joins_again_with_the_id_that_it_receives(bench):
    crew = bench()
    first = crew.join().response
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("ann-")
    second = crew.join(first.member_id)
    crew.run(100)
    assert (second.response.error_code, second.response.member_id) == (0, first.member_id)


def test_a_member_before_v4_is_added_at_once(bench):
    crew = bench()
    joined = crew.join(version=3)
    crew.run(100)
    assert joined.response.generation_id == 1


def test_an_id_that_is_not_used_expires_with_its_session(bench):
    crew = bench()
    pending = crew.join().response.member_id
    crew.run(SESSION_MS + 10)
    assert crew.join(pending).response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unused_id_holds_up_a_join_phase(bench):
    crew = bench()
    leader = crew.stable(1)[0]
    crew.join(session_ms=6_000)
    rejoined = crew.join(leader.member_id)
    crew.run(5_000)
    assert rejoined.response is None
    crew.run(1_500)
    assert rejoined.response.generation_id == 2


def test_a_group_is_not_made_for_a_member_with_an_id(bench):
    crew = bench()
    assert crew.join("ann-1").response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_without_a_common_protocol_is_refused(bench):
    crew = bench()
    crew.stable(1)
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert crew.join(protocols=[("sticky", b"")]).response.error_code == inconsistent
    assert crew.join(protocol_type="connect").response.error_code == inconsistent


def test_the_first_member_needs_a_protocol_and_a_type(bench):
    crew = bench()
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert crew.join(protocols=[]).response.error_code == inconsistent
    assert crew.join(protocol_type="").response.error_code == inconsistent


def test_a_follower_that_has_not_changed_gets_the_present_generation(bench):
    crew = bench()
    _, follower = crew.stable(2)
    again = crew.join(follower.member_id).response
    assert (again.generation_id, again.members) == (1, [])
    assert crew.states() == ("Stable", 1)


def test_a_follower_with_another_subscription_begins_a_rebalance(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    again = crew.join(follower.member_id, protocols=[("range", subscription("t", "u"))])
    assert again.response is None
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS
    crew.join(leader.member_id)
    assert again.response.generation_id == 2


def test_a_leader_that_joins_again_begins_a_rebalance(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    assert crew.join(leader.member_id).response is None
    assert crew.heartbeat(follower) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_full_group_refuses_newcomers_and_keeps_its_members(bench):
    crew = bench(config={"group.max.size": "2"})
    leader, follower = crew.stable(2)
    full = crew.join().response
    assert (full.error_code, full.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    crew.join(leader.member_id)
    assert crew.join(follower.member_id).response.generation_id == 2


def test_a_static_member_that_restarts_keeps_its_place_without_a_rebalance(bench):
    crew = bench()
    leader, follower = crew.stable(2, instances=["one", "two"])
    again = crew.join(instance="two").response
    assert again.error_code == 0
    assert again.member_id not in {leader.member_id, follower.member_id}
    assert (again.generation_id, again.leader) == (1, leader.member_id)
    assert crew.heartbeat(leader) == 0
    assert crew.sync(again).response.assignment == b"of " + follower.member_id.encode()


def test_a_static_leader_that_restarts_gets_the_members_and_skips_the_assignment(bench):
    crew = bench()
    crew.stable(2, instances=["one", "two"])
    again = crew.join(instance="one").response
    assert again.skip_assignment
    assert again.leader == again.member_id
    assert len(again.members) == 2


def test_a_static_leader_that_restarts_before_v9_gets_its_old_id(bench):
    crew = bench()
    leader, _ = crew.stable(2, instances=["one", "two"])
    again = crew.join(instance="one", version=8).response
    assert (again.leader, again.members, again.skip_assignment) == (leader.member_id, [], False)


def test_the_old_id_of_a_static_member_is_fenced(bench):
    crew = bench()
    _, follower = crew.stable(2, instances=["one", "two"])
    crew.join(instance="two")
    fenced = crew.join(follower.member_id, instance="two").response
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert crew.join("ann-1", instance="three").response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_restarts_while_the_leader_assigns_begins_a_rebalance(bench):
    crew = bench()
    leader, follower = crew.joined(2, instances=["one", "two"])
    waiting = crew.sync(follower)
    assert crew.join(instance="two").response is None
    assert waiting.response.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert crew.states() == ("PreparingRebalance", 1)
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_whose_record_is_not_written_keeps_its_old_id(bench):
    crew = bench(brokers=2, replicas=2, config={"min.insync.replicas": "2"})
    _, follower = crew.stable(2, instances=["one", "two"], session_ms=60_000)
    crew.cluster.kill(2 if crew.coordinator == 1 else 1)
    crew.run(20_000)
    refused = crew.join(instance="two")
    crew.run(10_000)
    assert refused.response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert crew.group.static_member_id("two") == follower.member_id


def test_a_new_group_has_a_record_before_it_has_members(bench):
    crew = bench()
    crew.join()
    log = crew.cluster.brokers[1].replica_manager.partitions[("__consumer_offsets", 0)].log
    assert log.log_end_offset == 1
    assert crew.group.group_id == GROUP


def test_the_old_coordinator_writes_no_record_for_a_group_without_a_generation(bench):
    crew = bench(release="3.7")
    crew.join()
    log = crew.cluster.brokers[1].replica_manager.partitions[("__consumer_offsets", 0)].log
    assert log.log_end_offset == 0
    assert crew.group.group_id == GROUP


def test_the_rebalance_timeout_of_v0_is_the_session_timeout(bench):
    crew = bench()
    crew.join(version=0, session_ms=7_000)
    assert [member.rebalance_timeout_ms for member in crew.group.members.values()] == [7_000]
    assert REBALANCE_MS != 7_000
