"""Members of consumer groups."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.modern.member_state import MemberState


def test_a_step_remembers_the_epoch_before():
    member = ConsumerMember(member_id="m", member_epoch=4)
    after = member.at_epoch(5, MemberState.UNRELEASED_PARTITIONS, {b"t": frozenset({0})}, {})
    assert (after.member_epoch, after.previous_member_epoch, after.state.name) == (5, 4, "UNRELEASED_PARTITIONS")
    assert after.assigned == {b"t": frozenset({0})}


def test_classic_data_mark_a_classic_member():
    assert not ConsumerMember(member_id="m").uses_classic_protocol
    assert ConsumerMember(member_id="m", classic=ClassicProtocolData(1000, ())).uses_classic_protocol
