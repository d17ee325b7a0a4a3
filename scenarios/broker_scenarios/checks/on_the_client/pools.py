"""res-pool: a producer's pool has more memory than `buffer.memory`, because some came back twice (BufferPool)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["overfull_pools"]


def overfull_pools(facts: WireFacts) -> Iterator[Finding]:
    """Find the producers whose pool was fuller than it is large at the end of their processes."""
    for pool in facts.pools:
        if pool.available_bytes > pool.total_bytes:
            yield Finding(
                kind=FindingKind.RES_POOL,
                topic="",
                partition=-1,
                value_id=-1,
                process=pool.process,
                detail=f"{pool.client_id} has {pool.available_bytes} bytes free of buffer.memory={pool.total_bytes}",
            )
