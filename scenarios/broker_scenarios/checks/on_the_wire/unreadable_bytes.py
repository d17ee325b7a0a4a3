"""wire-unreadable: a client sends bytes that are no request of the broker's release, or batches that are corrupt.

That is a malformed request, a version that the broker does not have, or another protocol on its port. Brokers close the
connection. Mirrors InvalidRequestException in Processor.processChannelException. A batch with a wrong checksum, length
or magic is refused with CORRUPT_MESSAGE: producers take it for damage on the way and retry, so that one whose every
batch is wrong shows no error before its delivery time-out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_sim.control.events import ConnectionClosed, ProduceCompleted, RuleFired
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["unreadable_bytes"]


def unreadable_bytes(facts: WireFacts) -> Iterator[Finding]:
    """Find the connections that a broker closed because of their bytes, and the batches that it refused as corrupt."""
    yield from _closed_connections(facts)
    yield from _corrupt_batches(facts)


def _corrupt_batches(facts: WireFacts) -> Iterator[Finding]:
    """A rule that has fired on the request may have flipped the bit, or put the error there."""
    of_rules = {(event.broker_id, event.request_id) for event in facts.journal if type(event) is RuleFired}
    client_of = {(event.broker_id, event.request_id): event.client_id for event in facts.requests}
    for event in facts.journal:
        if type(event) is ProduceCompleted and event.error_code == ErrorCode.CORRUPT_MESSAGE:
            request = event.broker_id, event.request_id
            if request not in of_rules:
                yield Finding(
                    kind=FindingKind.WIRE_UNREADABLE,
                    topic=event.topic,
                    partition=event.partition,
                    value_id=-1,
                    detail=f"request {event.request_id} of {client_of.get(request, 'a client')} to broker "
                    f"{event.broker_id}: the batch for {event.topic}-{event.partition} is refused: CORRUPT_MESSAGE",
                    complete_us=event.time_us,
                )


def _closed_connections(facts: WireFacts) -> Iterator[Finding]:
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
