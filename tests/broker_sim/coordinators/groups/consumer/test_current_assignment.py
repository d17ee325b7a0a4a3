"""The table of reconciliation steps."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
from broker_sim.coordinators.groups.consumer.current_assignment import Reconciliation
from broker_sim.coordinators.groups.modern.member_state import MemberState

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS


def parts(**topics):
    return {{"t": T, "u": U}[name]: frozenset(partitions) for name, partitions in topics.items()}


def member(state=STABLE, epoch=5, assigned=None, pending=None):
    return ConsumerMember(
        member_id="m",
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        state=state,
        assigned=assigned or {},
        pending_revocation=pending or {},
    )


def step(before, *, epoch=6, target=None, owned=None, taken=(), subscribed=frozenset({T, U}), **more):
    facts = Reconciliation(
        target_epoch=epoch,
        target=target or {},
        is_free=lambda topic_id, partition: (topic_id, partition) not in taken,
        owned=None if owned is None else list(owned.items()),
        subscribed=subscribed,
        **more,
    )
    after = facts.next_step(before)
    return after.state, after.member_epoch, after.assigned, after.pending_revocation


def test_a_member_at_the_target_epoch_stays():
    before = member(epoch=6, assigned=parts(t=[0]))
    assert step(before, target=parts(t=[1])) == (STABLE, 6, parts(t=[0]), {})


def test_free_partitions_are_taken():
    assert step(member(assigned=parts(t=[0])), target=parts(t=[0, 1])) == (STABLE, 6, parts(t=[0, 1]), {})


def test_partitions_of_others_are_awaited():
    found = step(member(), target=parts(t=[0, 1]), taken={(T, 1)})
    assert found == (UNRELEASED, 6, parts(t=[0]), {})


@pytest.mark.parametrize("owned", [None, parts(t=[1])])
def test_owned_partitions_are_revoked_first(owned):
    found = step(member(assigned=parts(t=[0, 1])), target=parts(t=[0], u=[0]), owned=owned)
    assert found == (UNREVOKED, 5, parts(t=[0]), parts(t=[1]))


def test_partitions_that_are_not_owned_need_no_revocation():
    found = step(member(assigned=parts(t=[0, 1])), target=parts(t=[0]), owned=parts(t=[0]))
    assert found == (STABLE, 6, parts(t=[0]), {})


def test_a_revocation_is_awaited_and_then_computed_again():
    before = member(UNREVOKED, assigned=parts(t=[0]), pending=parts(t=[1]))
    assert step(before, target=parts(t=[0]), owned=None)[:2] == (UNREVOKED, 5)
    assert step(before, target=parts(t=[0]), owned=parts(t=[0, 1]))[:2] == (UNREVOKED, 5)
    assert step(before, target=parts(t=[0]), owned=parts(t=[0])) == (STABLE, 6, parts(t=[0]), {})


@pytest.mark.parametrize(("subscribed", "epoch"), [(frozenset({T}), 5), (None, 6)])
def test_the_epoch_of_a_second_revocation_depends_on_the_release(subscribed, epoch):
    before = member(UNREVOKED, assigned=parts(t=[0]), pending=parts(t=[1]))
    found = step(before, epoch=7, target={}, owned=parts(t=[0]), subscribed=subscribed)
    assert found == (UNREVOKED, epoch, {}, parts(t=[0]))


@pytest.mark.parametrize(
    ("subscribed", "expected"),
    [
        (frozenset({T}), (STABLE, 7, parts(t=[0, 1]), {})),
        (None, (UNRELEASED, 7, parts(t=[0]), {})),
    ],
)
def test_a_member_gets_back_what_it_has_revoked_from_4_2_on(subscribed, expected):
    before = member(UNREVOKED, assigned=parts(t=[0]), pending=parts(t=[1]))
    after = step(
        before, epoch=7, target=parts(t=[0, 1]), owned=parts(t=[0]), taken={(T, 0), (T, 1)}, subscribed=subscribed
    )
    assert after == expected


def test_dropped_topics_are_revoked_when_the_subscription_changes():
    before = member(epoch=6, assigned=parts(t=[0], u=[0]))
    dropped = {"subscribed": frozenset({T}), "subscription_changed": True}
    assert step(before, **dropped) == (UNREVOKED, 6, parts(t=[0]), parts(u=[0]))
    assert step(before, owned=parts(t=[0]), **dropped) == (STABLE, 6, parts(t=[0]), {})
    assert step(before, subscribed=frozenset({T})) == (STABLE, 6, before.assigned, {})


def test_topics_without_a_subscription_are_not_assigned():
    assert step(member(), target=parts(t=[0], u=[0]), subscribed=frozenset({T})) == (STABLE, 6, parts(t=[0]), {})


def test_partitions_keep_the_epoch_of_their_assignment():
    before = member(assigned=parts(t=[0]))
    facts = Reconciliation(
        target_epoch=6,
        target=parts(t=[0, 1]),
        is_free=lambda *_: True,
        owned=None,
        subscribed=frozenset({T}),
        keeps_epochs=True,
    )
    assert facts.next_step(before).assignment_epochs == {(T, 0): 6, (T, 1): 6}


def test_a_member_in_an_unknown_state_is_fenced_unless_it_owns_nothing():
    before = member(MemberState.UNKNOWN)
    with pytest.raises(CoordinatorError, match="unknown state"):
        step(before, target=parts(t=[0]))
    assert step(before, target=parts(t=[0]), owned={})[:2] == (STABLE, 6)
