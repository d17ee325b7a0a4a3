"""Members of consumer and share groups."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.modern_member import ModernMember


@pytest.mark.parametrize(
    ("state", "epoch", "reconciled"),
    [(MemberState.STABLE, 4, True), (MemberState.STABLE, 3, False), (MemberState.UNRELEASED_PARTITIONS, 4, False)],
)
def test_a_stable_member_of_the_epoch_is_reconciled(state, epoch, reconciled):
    assert ModernMember(member_id="m", state=state, member_epoch=epoch).is_reconciled_to(4) is reconciled
