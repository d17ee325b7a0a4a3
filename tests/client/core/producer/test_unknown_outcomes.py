"""The outcome of a record whose send has ended in an error: certainly not stored, or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World
    from tests.client.scripted_broker import ScriptedCluster

    ProducerOn = Callable[..., ProducerCore]


@pytest.mark.parametrize(
    ("first", "unknown"), [(ErrorCode.NOT_LEADER_OR_FOLLOWER, True), (ErrorCode.NOT_ENOUGH_REPLICAS, False)]
)
def test_a_refusal_is_final_only_if_no_attempt_before_it_can_have_been_stored(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn, first: ErrorCode, unknown: bool
) -> None:
    core = producer_on(cluster, retries=1, enable_idempotence=False, linger_ms=0)
    world.run_until(core.partitions_for("orders"))
    cluster.script += [Action(appends=False, error=first), Action(appends=False, error=ErrorCode.NOT_ENOUGH_REPLICAS)]
    sent = core.send("orders", b"refused twice")
    world.run_for(ms=1_000)
    failure = sent.exception(0)
    assert failure is not None
    assert failure.error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert failure.maybe_written is unknown
