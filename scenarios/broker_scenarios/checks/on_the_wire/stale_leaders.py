"""wire-stale-leader: a producer does not go back to the leader of an earlier epoch, nor to a broker that never led.

Once a broker has taken its records as leader, the client knows that epoch. An earlier leader in later metadata is old.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of
from broker_scenarios.findings import FindingKind
from broker_sim.control.events import LeaderElected
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["stale_leaders"]


def stale_leaders(facts: WireFacts) -> Iterator[Finding]:
    """Find the batches for a former leader after its successor, and those for a broker that has never led."""
    elections = [event for event in facts.journal if type(event) is LeaderElected]
    epochs: dict[tuple[str, int], dict[int, int]] = {}
    known: dict[tuple[str, tuple[str, int]], int] = {}
    following = 0
    for batch in facts.batches:
        while following < len(elections) and elections[following].time_us <= batch.at_us:
            event = elections[following]
            epochs.setdefault((event.topic, event.partition), {})[event.broker_id] = event.leader_epoch
            following += 1
        epoch = epochs.get(batch.place, {}).get(batch.broker_id)
        client = (batch.client_id, batch.place)
        if epoch is None:
            yield finding_of(FindingKind.WIRE_STALE_LEADER, batch, "which has never led the partition")
        elif epoch < known.get(client, -1):
            detail = f"leader of epoch {epoch}, after the leader of epoch {known[client]} had taken records"
            yield finding_of(FindingKind.WIRE_STALE_LEADER, batch, detail)
        elif facts.error_of(batch) in {None, ErrorCode.NONE}:
            known[client] = epoch
