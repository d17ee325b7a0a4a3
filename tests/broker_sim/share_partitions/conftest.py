from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def share_group() -> Iterator[Callable[..., ShareGroupBench]]:
    benches: list[ShareGroupBench] = []

    def start(*, partitions: int = 1, **config: str) -> ShareGroupBench:
        names = {name.replace("_", "."): value for name, value in config.items()}
        benches.append(ShareGroupBench(names, partitions))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
