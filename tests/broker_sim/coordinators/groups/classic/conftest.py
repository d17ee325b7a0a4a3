"""The bench of classic groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.broker_sim.coordinators.groups.classic.group_bench import GroupBench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def bench() -> Iterator[Callable[..., GroupBench]]:
    benches: list[GroupBench] = []

    def start(**options: Any) -> GroupBench:
        benches.append(GroupBench(**options))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
