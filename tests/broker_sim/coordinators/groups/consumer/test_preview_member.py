"""A member of 3.7's preview."""

from __future__ import annotations

from dataclasses import replace

from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.epoch_member import STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.member_state import MemberState


def test_a_member_is_reconciled_to_the_epoch_of_its_target():
    member = PreviewMember(member_id="m", member_epoch=STATIC_LEAVE_EPOCH, target_epoch=3)
    assert member.is_reconciled_to(3)
    assert not member.is_reconciled_to(4)
    assert not replace(member, state=MemberState.UNREVOKED_PARTITIONS).is_reconciled_to(3)
