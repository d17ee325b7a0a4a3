"""wire-batch-identity: a batch that is sent again has the same records (KIP-98).

Producer id, epoch, partition and first sequence name a batch, and brokers recognise a retry by them. After
MESSAGE_TOO_LARGE a producer may split it: no record of it was stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of
from broker_scenarios.findings import FindingKind
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["changed_batches"]


def changed_batches(facts: WireFacts) -> Iterator[Finding]:
    """Find the batches that are sent with other records under the ids of an earlier one."""
    first: dict[tuple[int, int, tuple[str, int], int], SentBatch] = {}
    for batch in facts.batches:
        if batch.producer_id < 0:
            continue
        key = (batch.producer_id, batch.producer_epoch, batch.place, batch.base_sequence)
        before = first.get(key)
        if before is None or facts.error_of(before) == ErrorCode.MESSAGE_TOO_LARGE:
            first[key] = batch
        elif (batch.records, batch.checksum) != (before.records, before.checksum):
            ids = f"producer {batch.producer_id} epoch {batch.producer_epoch} sequence {batch.base_sequence}"
            detail = (
                f"{ids} has {batch.records} records, and had {before.records} others in request {before.request_id}"
            )
            yield finding_of(FindingKind.WIRE_BATCH_IDENTITY, batch, detail)
