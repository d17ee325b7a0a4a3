"""wire-no-produce and wire-no-endtxn: a success that no request has brought about.

A record is acknowledged that is in no Produce which a broker has received; a transaction with records is committed
without an EndTxn. With acks=0 a success is no more than a record that was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["commits_without_request", "sends_without_request"]


def sends_without_request(facts: WireFacts) -> Iterator[Finding]:
    """Find the acknowledged records that no broker has received."""
    sent = {(batch.client_id, value_id) for batch in facts.batches for value_id in batch.values}
    for event in facts.history:
        client_id = facts.clients.get(event.process, "")
        if (
            event.type == EventType.OK
            and (client_id, event.value_id) not in sent
            and facts.configs.get(client_id, {}).get("acks") != "0"
        ):
            yield Finding(
                kind=FindingKind.WIRE_NO_PRODUCE,
                topic=event.topic,
                partition=event.partition,
                value_id=event.value_id,
                values=(event.value_id,),
                process=event.process,
                index=event.index,
                detail=f"{client_id} reports it as stored, and no broker has received it",
                complete_us=event.time_us,
            )


def commits_without_request(facts: WireFacts) -> Iterator[Finding]:
    """Find the committed transactions with records between whose begin and end no EndTxn was received."""
    ends = [(event.client_id or "", event.time_us) for event in facts.requests if event.api == "EndTxn"]
    for operation in facts.operations:
        client_id = facts.clients.get(operation.process, "")
        values = tuple(mop[2] for mop in operation.mops if mop[0] == "send")
        if operation.f != "txn" or operation.type is not EventType.OK or not values:
            continue
        if not any(
            client == client_id and operation.invoked_us <= at_us <= operation.completed_us for client, at_us in ends
        ):
            yield Finding(
                kind=FindingKind.WIRE_NO_ENDTXN,
                topic="",
                partition=-1,
                value_id=values[0],
                values=values,
                process=operation.process,
                detail=f"{client_id} reports a commit of {len(values)} records, and no broker has received an EndTxn",
                complete_us=operation.completed_us,
            )
