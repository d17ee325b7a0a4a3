"""One value as of offsets."""

from __future__ import annotations

from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.coordinators.runtime.timeline_value import TimelineValue


def test_a_value_is_read_as_of_an_offset_and_reverts():
    registry = SnapshotRegistry()
    value = TimelineValue(registry, 0)
    registry.snapshot(1)
    value.set(5)
    registry.snapshot(2)
    value.set(6)
    assert (value.get(), value.get(2), value.get(1)) == (6, 5, 0)
    registry.revert_to(1)
    assert value.get() == 0
