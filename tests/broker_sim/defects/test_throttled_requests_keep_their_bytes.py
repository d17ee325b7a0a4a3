"""A client within its quota sends while another one is throttled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.quotas.client_quotas_image import CLIENT_ID, NO_CLIENT_QUOTAS, ClientQuotaEntity, QuotaChange
from tests.broker_sim.defects.stage import Stage, with_and_without

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG = {"queued.max.request.bytes": 4_000, "socket.request.max.bytes": 4_000}


def waits_ms(defects: Sequence[str]) -> int:
    """Return how long a client waits for its acknowledgement that no quota concerns."""
    stage = Stage(defects, release="1.1", config=CONFIG)
    change = QuotaChange(entity=ClientQuotaEntity.of({CLIENT_ID: "greedy"}), key="producer_byte_rate", value=50.0)
    stage.cluster.broker(1).quotas.apply(NO_CLIENT_QUOTAS.with_changes([change]))
    modest = stage.producer(client_id="modest")
    stage.sent(modest, "a")
    for _ in range(2):
        stage.send(stage.producer(client_id="greedy"), "b" * 3_000)
    stage.run(100)
    began_us = stage.world.reactor.now_us
    stage.sent(modest, "c")
    stage.close()
    return (stage.world.reactor.now_us - began_us) // 1_000


def test_one_clients_quota_stalls_another_client() -> None:
    broken, good = with_and_without(waits_ms, "throttled-requests-keep-their-bytes")
    assert broken > 5_000
    assert good < 100
