"""Partitions that members share."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.simple_assignor import SimpleAssignor
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of


def test_every_member_gets_all_partitions_of_its_topics():
    spec = spec_of({1: 2, 2: 1}, {"a": (1,), "b": (1, 2)})
    assert numbers_of(SimpleAssignor().assign(spec)) == {"a": {1: [0, 1]}, "b": {1: [0, 1], 2: [0]}}
