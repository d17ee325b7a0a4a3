"""The bench of streams groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.coordinators.groups.streams.streams_bench import StreamsBench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def streams_bench() -> Iterator[Callable[..., StreamsBench]]:
    benches: list[StreamsBench] = []

    def start(**config: str) -> StreamsBench:
        benches.append(StreamsBench({name.replace("_", "."): value for name, value in config.items()}))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
