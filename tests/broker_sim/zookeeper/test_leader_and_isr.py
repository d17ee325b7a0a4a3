from __future__ import annotations

import pytest

from broker_sim.zookeeper.leader_and_isr import Elected, ElectionStrategy, LeaderAndIsr, elect

S = ElectionStrategy
STATE = LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2), zk_version=9, controller_epoch=3)


def choose(
    strategy: ElectionStrategy,
    *,
    alive: tuple[int, ...],
    isr: tuple[int, ...] = (1, 2),
    shutting_down: tuple[int, ...] = (),
    allow_unclean: bool = False,
) -> Elected | None:
    return elect(
        strategy,
        state=STATE.changed(leader=1, isr=isr),
        replicas=(1, 2, 3),
        is_online=lambda broker_id: broker_id in alive,
        shutting_down=lambda broker_id: broker_id in shutting_down,
        allow_unclean=allow_unclean,
    )


@pytest.mark.parametrize(
    ("strategy", "alive", "isr", "leader", "new_isr"),
    [
        (S.OFFLINE, (2, 3), (1, 2), 2, (2,)),
        (S.OFFLINE, (1, 2, 3), (2, 1), 1, (2, 1)),
        (S.OFFLINE, (3,), (1, 3), 3, (3,)),
        (S.PREFERRED, (1, 2, 3), (2, 1), 1, (2, 1)),
        (S.REASSIGN, (2, 3), (3, 2), 2, (3, 2)),
    ],
)
def test_the_first_live_replica_in_sync_leads(
    strategy: ElectionStrategy, alive: tuple[int, ...], isr: tuple[int, ...], leader: int, new_isr: tuple[int, ...]
) -> None:
    chosen = choose(strategy, alive=alive, isr=isr)
    assert chosen is not None
    assert (chosen.state.leader, chosen.state.isr, chosen.unclean) == (leader, new_isr, False)
    assert chosen.state.leader_epoch == STATE.leader_epoch + 2
    assert chosen.recipients == tuple(each for each in (1, 2, 3) if each in alive)


@pytest.mark.parametrize(
    ("strategy", "alive", "isr"),
    [
        (S.OFFLINE, (3,), (1, 2)),
        (S.PREFERRED, (2, 3), (1, 2)),
        (S.PREFERRED, (1, 2, 3), (2, 3)),
        (S.REASSIGN, (3,), (1, 2)),
    ],
)
def test_no_replica_leads_when_none_may(
    strategy: ElectionStrategy, alive: tuple[int, ...], isr: tuple[int, ...]
) -> None:
    assert choose(strategy, alive=alive, isr=isr) is None


@pytest.mark.parametrize("strategy", [S.OFFLINE, S.OFFLINE_UNCLEAN])
def test_where_it_is_allowed_a_replica_out_of_sync_leads_alone(strategy: ElectionStrategy) -> None:
    chosen = choose(strategy, alive=(3,), allow_unclean=True)
    assert chosen is not None
    assert (chosen.state.leader, chosen.state.isr, chosen.unclean) == (3, (3,), True)


def test_an_unclean_election_needs_a_live_replica() -> None:
    assert choose(S.OFFLINE_UNCLEAN, alive=(), allow_unclean=True) is None


def test_a_broker_that_shuts_down_gives_leadership_and_isr_away() -> None:
    chosen = choose(S.CONTROLLED_SHUTDOWN, alive=(1, 2, 3), isr=(1, 2, 3), shutting_down=(1,))
    assert chosen is not None
    assert (chosen.state.leader, chosen.state.isr) == (2, (2, 3))
    assert chosen.recipients == (1, 2, 3), "the one that shuts down receives it too"


def test_a_broker_that_shuts_down_keeps_partitions_without_another_leader() -> None:
    assert choose(S.CONTROLLED_SHUTDOWN, alive=(1, 2, 3), isr=(1,), shutting_down=(1,)) is None


def test_a_broker_that_shuts_down_is_elected_by_nothing_else() -> None:
    assert choose(S.OFFLINE, alive=(2,), isr=(2,), shutting_down=(2,)) is None


def test_states_are_equivalent_independent_of_their_versions() -> None:
    again = LeaderAndIsr(leader=1, leader_epoch=4, isr=(1, 2), zk_version=1, controller_epoch=3)
    assert STATE.is_equivalent(again)
    assert not STATE.is_equivalent(again.changed(leader=1, isr=(1, 2)))
