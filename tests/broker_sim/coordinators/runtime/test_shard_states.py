"""The state table of a shard."""

from broker_sim.coordinators.runtime.shard_states import ShardState, may_become


def test_a_closed_shard_stays_closed():
    assert not any(may_become(ShardState.CLOSED, state) for state in ShardState)


def test_a_failed_shard_loads_again_with_the_next_election():
    assert may_become(ShardState.FAILED, ShardState.LOADING)
    assert not may_become(ShardState.FAILED, ShardState.ACTIVE)


def test_every_state_can_be_closed():
    assert all(may_become(state, ShardState.CLOSED) for state in ShardState if state is not ShardState.CLOSED)
