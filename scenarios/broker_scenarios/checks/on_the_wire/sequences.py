"""wire-seq: the sequences of a producer in a partition are contiguous, and wrap from 2^31 - 1 to 0 (KIP-98).

A batch that was too large may be split: its parts have its sequences. How many requests are in flight is not seen by a
broker, which reads one request of a connection at a time.
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

__all__ = ["broken_sequences"]

_MODULUS: Final = 1 << 31


def broken_sequences(facts: WireFacts) -> Iterator[Finding]:
    """Find the new batches whose first sequence does not follow the last one of the partition."""
    split: dict[tuple[int, int, tuple[str, int]], list[range]] = {}
    known: dict[tuple[int, int, tuple[str, int]], dict[int, None]] = {}
    following: dict[tuple[int, int, tuple[str, int]], int] = {}
    for batch in facts.batches:
        if batch.producer_id < 0:
            continue
        key = (batch.producer_id, batch.producer_epoch, batch.place)
        sequences = known.setdefault(key, {})
        if batch.base_sequence in sequences:
            continue  # a retry
        if any(batch.base_sequence in parts for parts in split.get(key, ())):
            continue  # a part of a batch that was too large
        sequences[batch.base_sequence] = None
        if facts.error_of(batch) == ErrorCode.MESSAGE_TOO_LARGE:
            split.setdefault(key, []).append(range(batch.base_sequence, batch.base_sequence + batch.records))
        expected = following.get(key, batch.base_sequence)
        following[key] = (batch.base_sequence + batch.records) % _MODULUS
        if batch.base_sequence < 0 or batch.base_sequence != expected:
            wanted = f"{expected} was next" if batch.base_sequence >= 0 else "none is negative"
            detail = f"producer {batch.producer_id} epoch {batch.producer_epoch} sends {batch.base_sequence}, {wanted}"
            yield finding_of(FindingKind.WIRE_SEQ, batch, detail)
