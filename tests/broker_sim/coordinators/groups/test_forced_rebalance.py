"""A forced rebalance of groups of each type; `actions/cluster/test_force_rebalance.py` has the members' view."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.forced_rebalance import force_rebalance


def test_a_group_of_another_type_cannot_rebalance() -> None:
    shard: Any = SimpleNamespace(groups=SimpleNamespace(existing=lambda _: object()))
    with pytest.raises(CoordinatorError, match="group g cannot rebalance now: it is neither"):
        force_rebalance(shard, "g")
