from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.coordinators.groups.share.share_groups_bench import ShareGroupsBench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def groups() -> Iterator[Callable[..., ShareGroupsBench]]:
    benches: list[ShareGroupsBench] = []

    def start(**config: str) -> ShareGroupsBench:
        benches.append(ShareGroupsBench(**config))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
