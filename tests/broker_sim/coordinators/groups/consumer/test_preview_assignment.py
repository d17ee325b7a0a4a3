"""Steps of a member of 3.7's preview towards its target assignment."""

from __future__ import annotations

from dataclasses import replace

from broker_sim.coordinators.groups.consumer.preview_assignment import next_preview_step, preview_state
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.member_state import MemberState

T, U = b"t" * 16, b"u" * 16
STABLE = PreviewMember(member_id="m", member_epoch=1, target_epoch=1, assigned={T: frozenset({0, 1})})


def step(member, target_epoch, target, *, taken=(), owned=None):
    reported = None if owned is None else list(owned.items())
    return next_preview_step(member, target_epoch, target, lambda topic, index: (topic, index) not in taken, reported)


def test_a_member_at_its_target_stays():
    assert step(STABLE, 1, {T: frozenset({0, 1})}).assigned == STABLE.assigned


def test_free_partitions_come_with_the_epoch_of_the_target():
    after = step(STABLE, 2, {T: frozenset({0, 1, 2, 3})}, taken={(T, 3)})
    assert (after.member_epoch, after.previous_member_epoch, after.target_epoch) == (2, 1, 2)
    assert after.assigned == {T: frozenset({0, 1, 2})}
    assert after.pending_assignment == {T: frozenset({3})}
    assert after.state is MemberState.UNRELEASED_PARTITIONS
    assert step(after, 2, {}, taken={(T, 3)}) is after
    released = step(after, 2, {})
    assert (released.state, released.assigned) == (MemberState.STABLE, {T: frozenset({0, 1, 2, 3})})


def test_partitions_are_revoked_before_the_epoch_changes():
    after = step(STABLE, 2, {T: frozenset({0}), U: frozenset({5})})
    assert (after.member_epoch, after.target_epoch, after.state) == (1, 2, MemberState.UNREVOKED_PARTITIONS)
    assert (after.assigned, after.pending_revocation) == ({T: frozenset({0})}, {T: frozenset({1})})
    assert step(after, 2, {}) is after
    assert step(after, 2, {}, owned={T: frozenset({0, 1})}) is after
    assert step(after, 2, {}, owned={}) is after
    revoked = step(after, 2, {}, owned={T: frozenset({0})})
    assert (revoked.member_epoch, revoked.state) == (2, MemberState.STABLE)
    assert revoked.assigned == {T: frozenset({0}), U: frozenset({5})}


def test_a_new_target_gives_back_partitions_that_are_not_revoked_yet():
    revoking = step(STABLE, 2, {T: frozenset({0})})
    after = step(revoking, 3, {T: frozenset({1})})
    assert (after.assigned, after.pending_revocation) == ({T: frozenset({1})}, {T: frozenset({0})})
    assert step(revoking, 3, STABLE.assigned).assigned == STABLE.assigned


def test_the_state_follows_from_the_partitions():
    some = {T: frozenset({0})}
    assert preview_state(some, some) is MemberState.UNREVOKED_PARTITIONS
    assert preview_state({}, some) is MemberState.UNRELEASED_PARTITIONS
    assert preview_state({}, {}) is MemberState.STABLE
    assert step(replace(STABLE, target_epoch=0, assigned={}), 1, {}).state is MemberState.STABLE
