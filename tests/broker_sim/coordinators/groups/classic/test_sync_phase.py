import pytest

from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.groups.classic.group_bench import SESSION_MS


def test_followers_wait_for_the_leaders_assignment(bench):
    crew = bench()
    leader, follower = crew.joined(2)
    waiting = crew.sync(follower)
    assert waiting.response is None
    sent = crew.sync(leader, {follower.member_id: b"theirs"})
    crew.run(100)
    assert (sent.response.assignment, waiting.response.assignment) == (b"", b"theirs")
    assert (waiting.response.protocol_type, waiting.response.protocol_name) == ("consumer", "range")
    assert crew.states() == ("Stable", 1)


def test_a_stable_group_returns_the_present_assignment(bench):
    crew = bench()
    leader, _ = crew.stable(2)
    assert crew.sync(leader, {leader.member_id: b"other"}).response.assignment == b"of " + leader.member_id.encode()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": "ann-1"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "one"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "absent"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_wrong_request_is_refused(bench, fields, error):
    crew = bench()
    leader = crew.stable(1)[0]
    response = crew.sync(leader, **fields).response
    assert (response.error_code, response.protocol_name, response.assignment) == (error, None, b"")


def test_a_join_phase_refuses_sync_and_heartbeat(bench):
    crew = bench()
    leader, follower = crew.stable(2)
    crew.join(leader.member_id)
    assert crew.sync(follower).response.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert crew.heartbeat(follower) == ErrorCode.REBALANCE_IN_PROGRESS


def test_heartbeats_keep_a_session(bench):
    crew = bench()
    leader = crew.stable(1)[0]
    for _ in range(3):
        crew.run(SESSION_MS - 1_000)
        assert crew.heartbeat(leader) == 0
    crew.run(SESSION_MS + 100)
    assert crew.heartbeat(leader) == ErrorCode.UNKNOWN_MEMBER_ID
    assert crew.states() == ("Empty", 2)


def test_heartbeats_are_accepted_before_the_assignment(bench):
    crew = bench()
    leader = crew.joined(1)[0]
    assert crew.heartbeat(leader) == 0
    leader.generation_id = 7
    assert crew.heartbeat(leader) == ErrorCode.ILLEGAL_GENERATION


def test_sync_restarts_the_session_in_the_old_coordinator_alone(bench):
    def lives_after_sync(release):
        crew = bench(release=release)
        leader = crew.stable(1)[0]
        crew.run(SESSION_MS - 1_000)
        crew.sync(leader)
        crew.run(2_000)
        return crew.heartbeat(leader) == 0

    assert lives_after_sync("3.7")
    assert not lives_after_sync("4.3.1")


def test_an_assignment_that_is_not_written_fails_for_all_and_begins_a_rebalance(bench):
    crew = bench(brokers=2, replicas=2, config={"min.insync.replicas": "2"})
    leader, follower = crew.joined(2, session_ms=60_000, rebalance_ms=60_000)
    crew.cluster.kill(2 if crew.coordinator == 1 else 1)
    crew.run(20_000)
    sent = [crew.sync(follower), crew.sync(leader, {})]
    crew.run(10_000)
    assert [each.response.error_code for each in sent] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert crew.states() == ("PreparingRebalance", 1)


def test_heartbeats_wait_for_the_assignment_before_2_4(bench):
    crew = bench(release="2.3")
    leader = crew.joined(1, version=5)[0]
    assert crew.heartbeat(leader, version=3) == ErrorCode.REBALANCE_IN_PROGRESS
    crew.sync(leader, version=3)
    assert crew.heartbeat(leader, version=3) == 0
