"""A cluster of three brokers on virtual time, with the topics of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.broker_sim.apis.conftest import ApiBench
from tests.broker_sim.coordinators.transactions.transactional_producer import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def bench() -> Iterator[Callable[..., ApiBench]]:
    benches: list[ApiBench] = []

    def start(**options: Any) -> ApiBench:
        usual: dict[str, Any] = {"brokers": 3, "topics": TOPICS, "config": {}, "release": "4.3.1", "seed": 1}
        benches.append(ApiBench(**(usual | options)))
        return benches[-1]

    yield start
    for each in benches:
        each.cluster.close()
