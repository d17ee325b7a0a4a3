"""wire-rate: a producer waits between two attempts of a batch, longer each time (KIP-580).

The wait is `retry.backoff.ms` doubled with each attempt up to `retry.backoff.max.ms`, and at least 0.8 of that. A retry
at another broker needs no wait: the leader has moved (KIP-951). Rates of other requests are measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_wire.wire_facts import finding_of
from broker_scenarios.findings import FindingKind
from broker_sim.control.events import ConnectionClosed
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts
    from broker_scenarios.findings import Finding

__all__ = ["hasty_retries"]

_JITTER: Final = 0.8


def hasty_retries(facts: WireFacts) -> Iterator[Finding]:
    """Find the attempts that come too early after the one before."""
    closed_us = {event.connection_id: event.time_us for event in facts.journal if type(event) is ConnectionClosed}
    attempts: dict[tuple[object, ...], list[SentBatch]] = {}
    for batch in facts.batches:
        ids = (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.checksum)
        earlier = attempts.setdefault((batch.client_id, batch.place, ids), [])
        earlier.append(batch)
        if len(earlier) == 1 or batch.acks == 0:
            continue
        before = earlier[-2]
        response = facts.responses.get(before.request)
        ended_us = closed_us.get(before.connection_id) if response is None else response.time_us
        split = facts.error_of(before) == ErrorCode.MESSAGE_TOO_LARGE
        if ended_us is None or batch.broker_id != before.broker_id or split:
            continue
        config = facts.configs.get(batch.client_id, {})
        first_ms = float(config.get("retry.backoff.ms", "100"))
        least_ms = _JITTER * min(first_ms * 2 ** (len(earlier) - 2), float(config.get("retry.backoff.max.ms", "1000")))
        waited_ms = (batch.at_us - ended_us) / 1000
        if 0 <= waited_ms < least_ms:
            detail = f"attempt {len(earlier)} comes {waited_ms:,.3f} ms after the last one has failed, not {least_ms:g}"
            yield finding_of(FindingKind.WIRE_RATE, batch, detail)
