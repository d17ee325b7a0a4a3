"""The uniform assignor of 3.7."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.preview_uniform_assignor import PreviewUniformAssignor
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of


def test_no_members_have_no_partitions():
    assert PreviewUniformAssignor().assign(spec_of({1: 1}, {})) == {}


def test_equal_subscriptions_are_dealt_in_turn():
    spec = spec_of({1: 2, 2: 2}, {"a": (1, 2), "b": (2, 1)})
    assert numbers_of(PreviewUniformAssignor().assign(spec)) == {"a": {1: [0], 2: [0]}, "b": {1: [1], 2: [1]}}


def test_different_subscriptions_are_balanced():
    spec = spec_of({1: 2, 2: 2}, {"a": (1, 2), "b": (2,)})
    assert numbers_of(PreviewUniformAssignor().assign(spec)) == {"a": {1: [0, 1]}, "b": {2: [0, 1]}}
