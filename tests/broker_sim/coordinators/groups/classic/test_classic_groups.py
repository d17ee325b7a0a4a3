from broker_sim.config.broker_config import BrokerConfig
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.groups.classic.group_bench import SESSION_MS


def moved(crew):
    """Move the coordinator to the other broker."""
    before = crew.coordinator
    crew.cluster.stop(before)
    crew.run(3_000)
    assert crew.coordinator != before


def test_a_coordinator_that_moves_keeps_its_groups(bench):
    crew = bench(brokers=2, replicas=2)
    leader, follower = crew.stable(2, instances=["one", None], rebalance_ms=70_000)
    moved(crew)
    assert crew.states() == ("Stable", 1)
    assert crew.heartbeat(leader) == 0
    assert crew.sync(follower).response.assignment == b"of " + follower.member_id.encode()
    assert crew.group.static_member_id("one") == leader.member_id
    assert crew.group.rebalance_timeout_ms == 70_000
    assert crew.group.topics == {"t"}


def test_loaded_members_have_a_new_session(bench):
    crew = bench(brokers=2, replicas=2)
    crew.stable(1)
    crew.run(SESSION_MS - 500)
    moved(crew)
    crew.run(SESSION_MS - 4_000)
    assert crew.states() == ("Stable", 1)
    crew.run(5_000)
    assert crew.states() == ("Empty", 2)


def test_parked_requests_get_not_coordinator_when_the_coordinator_moves(bench):
    crew = bench(brokers=2, replicas=2)
    leader, follower = crew.joined(2)
    waiting = crew.sync(follower)
    moved(crew)
    assert waiting.response.error_code == ErrorCode.NOT_COORDINATOR
    crew = bench(brokers=2, replicas=2)
    leader, follower = crew.stable(2)
    parked = crew.join(leader.member_id)
    moved(crew)
    assert (parked.response.error_code, parked.response.member_id) == (ErrorCode.NOT_COORDINATOR, leader.member_id)


def test_other_brokers_are_not_the_coordinator(bench):
    crew = bench(brokers=2, replicas=2)
    leader = crew.stable(1)[0]
    moved(crew)
    other = next(broker_id for broker_id in crew.cluster.brokers if broker_id != crew.coordinator)
    crew.cluster.restart(other)
    crew.run(1_000)
    assert leader.error_code == 0
    assert crew.leave_at(other, leader.member_id).error_code == ErrorCode.NOT_COORDINATOR


def test_a_loaded_group_that_is_too_large_rebalances(bench):
    crew = bench(brokers=2, replicas=2)
    leader, follower = crew.stable(2)
    for broker in crew.cluster.brokers.values():
        broker.config = BrokerConfig.parse({**broker.config.overrides, "group.max.size": "1"})
    moved(crew)
    assert crew.heartbeat(leader) == ErrorCode.REBALANCE_IN_PROGRESS
    assert crew.join(leader.member_id).response is None
    assert crew.join(follower.member_id).response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_deleted_group_is_not_loaded(bench):
    crew = bench(brokers=2, replicas=2)
    leader = crew.stable(1)[0]
    crew.leave((leader.member_id, None))
    assert crew.delete() == 0
    moved(crew)
    assert crew.delete() == ErrorCode.GROUP_ID_NOT_FOUND
