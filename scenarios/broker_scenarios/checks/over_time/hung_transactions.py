"""hung-txn: the last stable offset of a partition stands longer than `transaction.timeout.ms` while it grows (KIP-664).

The coordinator looks for expired transactions every 10 seconds
(transaction.abort.timed.out.transaction.cleanup.interval.ms), hence the slack; for a shorter timeout it is the timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["hung_transactions"]

_SLACK_MAX_US: Final = 10_000_000


class _Seen(NamedTuple):
    """A partition's offsets at a time; `call` is the poll that has returned them."""

    key: str
    at_us: int
    last_stable_offset: int
    high_watermark: int
    call: Call | None = None


def hung_transactions(history: WholeHistory) -> Iterator[Finding]:
    """Find partitions whose last stable offset stands too long; one finding per partition and offset.

    The offsets are those that polls have returned, and those of the brokers' journal where it is known.
    """
    with_offsets = [call for call in history.calls if call.details is not None and call.details.offsets]
    polled = [
        _Seen(key, call.completed_us, stable, watermark, call)
        for call in sorted(with_offsets, key=lambda call: call.completed_at)
        if call.details is not None
        for key, (stable, watermark) in (call.details.offsets or {}).items()
    ]
    reported: dict[tuple[str, int], None] = {}
    for seen in (polled, [_Seen(*each) for each in history.stable_offsets]):
        yield from _standing_too_long(history, seen, reported)


def _standing_too_long(
    history: WholeHistory, seen: Iterable[_Seen], reported: dict[tuple[str, int], None]
) -> Iterator[Finding]:
    timeout_us = history.limits.transaction_timeout_us
    limit_us = timeout_us + min(timeout_us, _SLACK_MAX_US)
    standing: dict[str, _Seen] = {}
    for now in seen:
        key, stable = now.key, now.last_stable_offset
        if stable >= now.high_watermark:
            standing.pop(key, None)
            continue
        first = standing.get(key)
        if first is None or first.last_stable_offset != stable:
            standing[key] = first = now
        stood_us = now.at_us - first.at_us
        if now.high_watermark > first.high_watermark and stood_us > limit_us and (key, stable) not in reported:
            reported[key, stable] = None
            detail = f"the last stable offset of {key} stands at {stable} for {stood_us / 1000:g} ms"
            calls = [each.call for each in (first, now) if each.call is not None]
            yield history.finding(FindingKind.HUNG_TXN, key, calls, detail)
