"""wire-idempotence: a producer that is not configured otherwise sends every batch with a producer id (KAFKA-13598).

`enable.idempotence` is true by default. Some clients turn it off without an error where another setting conflicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of
from broker_scenarios.findings import FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["batches_without_producer"]


def batches_without_producer(facts: WireFacts) -> Iterator[Finding]:
    """Find the batches without a producer id; one finding per client and partition."""
    reported: dict[tuple[str, tuple[str, int]], None] = {}
    for batch in facts.batches:
        claimed = facts.configs.get(batch.client_id, {}).get("enable.idempotence", "true") == "true"
        if batch.producer_id < 0 and claimed and (batch.client_id, batch.place) not in reported:
            reported[batch.client_id, batch.place] = None
            yield finding_of(FindingKind.WIRE_IDEMPOTENCE, batch, "no producer id: the producer is not idempotent")
