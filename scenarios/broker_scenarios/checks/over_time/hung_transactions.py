"""hung-txn: the last stable offset of a partition stands longer than `transaction.timeout.ms` while it grows (KIP-664).

The coordinator looks for expired transactions every 10 seconds
(transaction.abort.timed.out.transaction.cleanup.interval.ms), hence the slack; for a shorter timeout it is the timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["hung_transactions"]

_SLACK_MAX_US: Final = 10_000_000


class _Standing(NamedTuple):
    """The first poll with a last stable offset below the high watermark."""

    last_stable_offset: int
    high_watermark: int
    call: Call


def hung_transactions(history: WholeHistory) -> Iterator[Finding]:
    """Find partitions whose last stable offset stands too long; one finding per partition and offset."""
    timeout_us = history.limits.transaction_timeout_us
    limit_us = timeout_us + min(timeout_us, _SLACK_MAX_US)
    standing: dict[str, _Standing] = {}
    reported: dict[tuple[str, int], None] = {}
    with_offsets = [call for call in history.calls if call.details is not None and call.details.offsets]
    for call in sorted(with_offsets, key=lambda call: call.completed_at):
        assert call.details is not None, "chosen for it"
        for key, (stable, watermark) in (call.details.offsets or {}).items():
            if stable >= watermark:
                standing.pop(key, None)
                continue
            first = standing.get(key)
            if first is None or first.last_stable_offset != stable:
                standing[key] = first = _Standing(stable, watermark, call)
            stood_us = call.completed_us - first.call.completed_us
            if watermark > first.high_watermark and stood_us > limit_us and (key, stable) not in reported:
                reported[key, stable] = None
                detail = f"the last stable offset of {key} stands at {stable} for {stood_us / 1000:g} ms"
                yield history.finding(FindingKind.HUNG_TXN, key, [first.call, call], detail)
