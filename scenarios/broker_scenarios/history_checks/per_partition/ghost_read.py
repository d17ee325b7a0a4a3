"""ghost-read: a polled value that the known log has never committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each value. What retention or compaction has removed since is none."""
    for key, values in facts.ok_reads_of.items():
        if not facts.has_log(key):
            continue
        for value, read in values.items():
            offset = next(offset for offset, each in read.pairs if each == value)
            if value in facts.committed_in[key] or offset < facts.claims.log_start.get(key, 0):
                continue
            if facts.claims.is_compacted and facts.loss_allowance(key, value, offset) is not None:
                continue
            allowed = None
            if not facts.claims.read_committed and value in facts.uncommitted_in[key]:
                allowed = "isolation.level=read_uncommitted: records of uncommitted transactions are read"
            allowed = allowed or facts.loss_allowance(key, value, offset)
            yield Found(name="ghost-read", values=[value], allowed=allowed, calls=[read.call], key=key)
