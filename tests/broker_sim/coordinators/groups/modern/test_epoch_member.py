"""The members of consumer, share and streams groups: reconciled once they are stable at the epoch of the assignment."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState


@pytest.mark.parametrize(
    ("member_type", "unstable"),
    [(ModernMember, MemberState.UNRELEASED_PARTITIONS), (StreamsMember, TaskState.UNRELEASED_TASKS)],
)
def test_a_stable_member_at_the_epoch_is_reconciled(member_type, unstable):
    member = member_type(member_id="ann", member_epoch=3)
    assert member.is_reconciled_to(3)
    assert not member.is_reconciled_to(4)
    assert not member_type(member_id="ann", member_epoch=3, state=unstable).is_reconciled_to(3)
