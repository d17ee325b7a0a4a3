"""The states of records."""

from __future__ import annotations

from broker_sim.coordinators.groups.modern.member_state import MemberState


def test_the_state_of_a_newer_release_is_unknown():
    assert [MemberState.from_value(value) for value in (0, 2, 3)] == [
        MemberState.STABLE,
        MemberState.UNRELEASED_PARTITIONS,
        MemberState.UNKNOWN,
    ]
