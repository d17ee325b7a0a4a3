"""What the producer's state machine has found, each as a run of a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import ProducerClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer_core import ProducerCore
    from sim_runtime.world import World
    from tests.client.scripted_broker import ScriptedCluster

    ProducerOn = Callable[..., ProducerCore]


def try_append(core: ProducerCore, partition: int | None, value: bytes = b"v") -> Any:
    return core.try_append("orders", partition, None, None, value, (), None)


def test_who_waits_for_a_partition_is_turned_away_by_close(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    core = producer_on(cluster)
    world.run_until(core.partitions_for("orders"))
    world.run_until(core.close(0))
    with pytest.raises(ProducerClosed):
        try_append(core, 7)
