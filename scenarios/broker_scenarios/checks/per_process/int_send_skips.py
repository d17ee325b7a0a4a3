"""int-send-skip: other records are stored between two that one operation sent one after the other.

Kafka does not isolate writes: this is legal always, and information about how transactions interleave.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.operations import Value

__all__ = ["int_send_skips"]


def int_send_skips(history: WholeHistory) -> Iterator[Finding]:
    """Find skips between neighbours that one operation sent to a partition, with the values between them."""
    for call in history.calls:
        if len(call.sends) < 2:
            continue
        by_key: dict[str, list[Value]] = {}
        for send in call.sends:
            by_key.setdefault(send.key, []).append(send.value_id)
        for key, values in by_key.items():
            observed = history.analyses[key].observed
            for first, second in pairwise(observed.place_of(value) for value in values):
                if first is not None and second is not None and second > first + 1:
                    skipped = observed.between(first, second)
                    if skipped:
                        detail = f"{len(skipped)} records of others stand between offsets {first} and {second} of {key}"
                        yield history.finding(FindingKind.INT_SEND_SKIP, key, [call], detail, values=tuple(skipped))
