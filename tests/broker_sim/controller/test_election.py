"""The next leader of a partition: its changes as tables of before and after."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.controller.election import Election, ElectionRules, PartitionChange, change_partition
from broker_sim.metadata.metadata_image import NO_LEADER, RECOVERING, PartitionRegistration

AFTER_UNCLEAN = {"leader_recovery_state": RECOVERING}


def partition(**changes: Any) -> PartitionRegistration:
    fields: dict[str, Any] = {
        "replicas": (1, 2, 3),
        "isr": (1, 2, 3),
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 9,
    }
    return PartitionRegistration(**{**fields, **changes})


def change(
    before: PartitionRegistration,
    target_isr: tuple[int, ...],
    *,
    alive: tuple[int, ...] = (1, 2, 3),
    election: Election = Election.ONLINE,
    min_isr: int = 1,
    elr: bool = False,
    unclean_shutdown: tuple[int, ...] = (),
) -> PartitionChange | None:
    rules = ElectionRules(
        election=election, is_acceptable=lambda replica: replica in alive, min_isr=min_isr, elr_enabled=elr
    )
    return change_partition(before, target_isr=target_isr, rules=rules, unclean_shutdown=unclean_shutdown)


def changed(*arguments: Any, **options: Any) -> PartitionRegistration:
    found = change(*arguments, **options)
    assert found is not None
    return found.registration


def test_nothing_to_change_is_no_change() -> None:
    assert change(partition(), (1, 2, 3)) is None


def test_a_follower_that_leaves_the_isr_costs_a_partition_epoch_and_no_leader_epoch() -> None:
    after = changed(partition(), (1, 2))
    assert after == partition(isr=(1, 2), partition_epoch=10)


def test_the_first_replica_in_sync_takes_over_from_a_leader_that_goes() -> None:
    after = changed(partition(isr=(1, 3, 2)), (3, 2), alive=(2, 3))
    assert after == partition(isr=(3, 2), leader=2, leader_epoch=6, partition_epoch=10)


def test_a_leader_that_may_lead_stays_though_it_is_not_preferred() -> None:
    assert change(partition(leader=2), (1, 2, 3)) is None
    after = changed(partition(leader=2), (1, 2, 3), election=Election.PREFERRED)
    assert (after.leader, after.leader_epoch) == (1, 6)


def test_a_preferred_election_keeps_the_leader_when_the_preferred_one_is_not_in_sync() -> None:
    before = partition(leader=2, isr=(2, 3))
    assert change(before, (2, 3), election=Election.PREFERRED) is None


def test_without_elr_the_last_member_stays_in_the_isr_without_a_leader() -> None:
    after = changed(partition(isr=(1,)), (), alive=(2, 3))
    assert after == partition(isr=(1,), leader=NO_LEADER, leader_epoch=6, partition_epoch=10)
    back = changed(after, (1,), alive=(1, 2, 3))
    assert (back.leader, back.isr, back.leader_epoch) == (1, (1,), 7)


def test_an_unclean_election_takes_the_first_replica_alive_and_makes_it_the_isr() -> None:
    found = change(partition(isr=(1,)), (), alive=(3, 2), election=Election.UNCLEAN)
    assert found is not None
    assert found.unclean
    assert found.registration == partition(isr=(2,), leader=2, leader_epoch=6, partition_epoch=10, **AFTER_UNCLEAN)


def test_an_unclean_election_prefers_an_in_sync_replica() -> None:
    found = change(partition(isr=(1, 3)), (3,), alive=(2, 3), election=Election.UNCLEAN)
    assert found is not None
    assert not found.unclean
    assert found.registration.leader == 3


def test_below_the_minimum_who_leaves_stays_eligible() -> None:
    after = changed(partition(isr=(1, 2)), (1,), min_isr=2, elr=True)
    assert (after.isr, after.elr) == ((1,), (2,))
    assert changed(partition(isr=(1, 2, 3)), (1, 2), min_isr=2, elr=True).elr == ()


def test_the_isr_empties_with_elr_and_the_last_leader_is_remembered() -> None:
    after = changed(partition(isr=(1,), elr=(2,)), (), alive=(3,), min_isr=2, elr=True)
    assert after == partition(
        isr=(), elr=(1, 2), last_known_elr=(1,), leader=NO_LEADER, leader_epoch=6, partition_epoch=10
    )


def test_an_eligible_replica_leads_cleanly_when_none_is_in_sync() -> None:
    before = partition(isr=(), elr=(1, 2), last_known_elr=(1,), leader=NO_LEADER)
    found = change(before, (), alive=(2, 3), min_isr=2, elr=True)
    assert found is not None
    assert not found.unclean
    assert found.registration == partition(isr=(2,), elr=(1,), leader=2, leader_epoch=6, partition_epoch=10)


def test_who_may_have_lost_records_is_eligible_no_more() -> None:
    before = partition(isr=(), elr=(1, 2), last_known_elr=(1,), leader=NO_LEADER)
    after = changed(before, (), alive=(), min_isr=2, elr=True, unclean_shutdown=(2,))
    assert (after.elr, after.leader) == ((1,), NO_LEADER)


def test_the_last_known_leader_comes_back_when_no_other_is_eligible() -> None:
    before = partition(isr=(), elr=(), last_known_elr=(2,), leader=NO_LEADER)
    assert change(before, (), alive=(1, 3), elr=True) is None
    found = change(before, (), alive=(1, 2, 3), elr=True)
    assert found is not None
    assert found.unclean
    assert found.registration == partition(isr=(2,), leader=2, leader_epoch=6, partition_epoch=10, **AFTER_UNCLEAN)


@pytest.mark.parametrize("elr", [False, True])
@given(data=st.data())
def test_every_change_keeps_what_must_always_hold(elr: bool, data: st.DataObject) -> None:
    before = partition(isr=data.draw(st.sampled_from([(1, 2, 3), (1, 3), (1,)])))
    for _ in range(data.draw(st.integers(1, 8))):
        alive = tuple(data.draw(st.sets(st.sampled_from([1, 2, 3]))))
        kept = data.draw(st.sets(st.sampled_from([1, 2, 3])))
        if before.leader in alive:
            kept.add(before.leader)  # no change removes a live leader from its ISR
        target = tuple(replica for replica in before.isr if replica in kept)
        election = data.draw(st.sampled_from(list(Election)))
        found = change(before, target, alive=alive, election=election, min_isr=2, elr=elr)
        if found is None:
            continue
        after = found.registration
        assert after.partition_epoch == before.partition_epoch + 1
        assert after.leader_epoch == before.leader_epoch + (after.leader != before.leader)
        assert after.leader == NO_LEADER or after.leader in after.isr
        assert after.leader == NO_LEADER or after.leader in alive
        assert elr or after.isr
        assert not set(after.elr) & set(after.isr)
        eligible = (*before.isr, *before.elr)
        assert found.unclean or after.leader in (NO_LEADER, *eligible)
        before = after
