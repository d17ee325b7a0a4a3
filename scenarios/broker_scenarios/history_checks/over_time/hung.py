"""hung-txn: the last stable offset of a partition stands longer than a transaction may last, while the log grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call

SLACK_MS: Final = 10_000
"""How late a coordinator may abort: its checks are this far apart (transaction.abort.timed.out....interval.ms)."""


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each partition."""
    limit_ms = facts.claims.transaction_timeout_ms + SLACK_MS
    since: dict[str, tuple[int, int, float, Call]] = {}
    reported: set[str] = set()
    for call in facts.calls:
        offsets = None if call.completed is None else call.completed.offsets
        for key, found in (offsets or {}).items():
            lso, hw = found.get("lso", -1), found.get("hw", -1)
            assert call.completed is not None, "it has offsets"
            at_ms = call.completed.t_ms
            if key not in since or since[key][0] != lso or lso >= hw:
                since[key] = (lso, hw, at_ms, call)
                continue
            _, first_hw, first_ms, first = since[key]
            if key not in reported and hw > first_hw and at_ms - first_ms > limit_ms:
                reported.add(key)
                yield Found(name="hung-txn", calls=[first, call], key=key)
