from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState, may_become


def test_a_group_becomes_stable_only_when_a_rebalance_completes():
    before = [state.value for state in ClassicGroupState if may_become(state, ClassicGroupState.STABLE)]
    assert before == ["CompletingRebalance"]


def test_a_dead_group_stays_dead():
    after = [state.value for state in ClassicGroupState if may_become(ClassicGroupState.DEAD, state)]
    assert after == ["Dead"]
