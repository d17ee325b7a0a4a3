"""wire-epoch: in a partition a producer never goes back to an earlier epoch, and it sends nothing after it was fenced.

In another partition a batch of the earlier epoch may be sent again: a new epoch rewrites the batches of the partition
that needed it (KIP-360).
Another process with the same transactional id is another producer: it does not know yet that it is fenced. A broker
that stores its batch nevertheless does not fence it (KIP-98).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of
from broker_scenarios.findings import FindingKind
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["earlier_epochs"]

_ON_THE_WAY_US: Final = 1_000_000
"""Requests that were sent before the client had read that it is fenced arrive within this time."""
_FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


def earlier_epochs(facts: WireFacts) -> Iterator[Finding]:
    """Find the batches with an epoch that their client had left or knows to be fenced, or that a leader stored late."""
    stored: dict[tuple[int, tuple[str, int]], int] = {}
    newest: dict[tuple[str, int, tuple[str, int]], int] = {}
    fenced_us: dict[tuple[str, int, int], int] = {}
    for batch in facts.batches:
        if batch.producer_id < 0:
            continue
        producer = (batch.client_id, batch.producer_id)
        last = newest.get((*producer, batch.place), batch.producer_epoch)
        newest[*producer, batch.place] = max(last, batch.producer_epoch)
        known_us = fenced_us.get((*producer, batch.producer_epoch))
        epoch = f"producer {batch.producer_id} sends epoch {batch.producer_epoch}"
        if batch.producer_epoch < last:
            yield finding_of(FindingKind.WIRE_EPOCH, batch, f"{epoch} after epoch {last}")
        elif known_us is not None and batch.at_us > known_us + _ON_THE_WAY_US:
            late_ms = (batch.at_us - known_us) / 1000
            yield finding_of(FindingKind.WIRE_EPOCH, batch, f"{epoch}, which was fenced {late_ms:,.3f} ms before")
        elif facts.error_of(batch) == ErrorCode.NONE:
            behind = stored.get((batch.producer_id, batch.place), batch.producer_epoch)
            stored[batch.producer_id, batch.place] = max(behind, batch.producer_epoch)
            if batch.producer_epoch < behind:
                yield finding_of(FindingKind.WIRE_EPOCH, batch, f"{epoch}, which is stored behind epoch {behind}")
        response = facts.responses.get(batch.request)
        if response is not None and facts.error_of(batch) in _FENCED:
            fenced_us.setdefault((*producer, batch.producer_epoch), response.time_us)
