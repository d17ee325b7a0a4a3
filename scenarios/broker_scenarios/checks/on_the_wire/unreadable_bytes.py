"""wire-unreadable: a client sends bytes that are no request of the broker's release.

That is a malformed request, a version that the broker does not have, or another protocol on its port. Brokers close the
connection. Mirrors InvalidRequestException in Processor.processChannelException.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_sim.control.events import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["unreadable_bytes"]


def unreadable_bytes(facts: WireFacts) -> Iterator[Finding]:
    """Find the connections that a broker closed because of their bytes."""
    client_of = {event.connection_id: event.client_id for event in facts.requests}
    for event in facts.journal:
        if type(event) is ConnectionClosed and event.unreadable:
            client = client_of.get(event.connection_id)
            who = "" if client is None else f" of {client}"
            yield Finding(
                kind=FindingKind.WIRE_UNREADABLE,
                topic="",
                partition=-1,
                value_id=-1,
                detail=f"connection {event.connection_id}{who} to broker {event.broker_id}: {event.reason}",
                complete_us=event.time_us,
            )
