"""res-callback: a call of the producer in a delivery callback never returned: its I/O thread waits for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["stalled_callbacks"]


def stalled_callbacks(facts: WireFacts) -> Iterator[Finding]:
    """Find the calls that were open still at the end, or that the application had given up."""
    for call in facts.callbacks:
        if not call.returned:
            yield Finding(
                kind=FindingKind.RES_CALLBACK,
                topic="",
                partition=-1,
                value_id=-1,
                detail=f"{call.what} in a delivery callback of {call.client_id} never returned",
                complete_us=call.begun_us,
            )
