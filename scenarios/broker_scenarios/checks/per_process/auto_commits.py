"""auto-commit: the client commits records by itself that the application still works on.

The batch in work is what the last ok poll returned; a call of the consumer ends the work on it. A commit that falls
inside a poll is compared with what that poll returns. Java commits what the polls before returned (at least once);
others have committed the latest poll, whose records are lost with the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.operations import Commit, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory
    from broker_scenarios.operations import Process

__all__ = ["auto_commits"]

_ENDS_THE_WORK = (Function.ASSIGN, Function.SUBSCRIBE, Function.CLOSE, Function.CRASH)


def auto_commits(history: WholeHistory) -> Iterator[Finding]:
    """Find commits of the client that reach into the batch in work; one finding per commit and partition."""
    in_work: dict[Process, Call | None] = {}
    for call in history.calls:  # also those without a completion: a process may be killed within its close
        completion = call.details
        latest = in_work.get(call.process)
        if call.f is Function.COMMIT:
            if completion is not None and completion.auto and call.ok and latest is not None:
                yield from _too_early(history, call, latest)
        elif call.f in _ENDS_THE_WORK:
            in_work[call.process] = None
        elif call.f in (Function.POLL, Function.TXN):
            # A commit inside this poll comes next, as calls are in the order of invocation.
            in_work[call.process] = call if call.ok else None


def _too_early(history: WholeHistory, commit: Call, in_work: Call) -> Iterator[Finding]:
    assert commit.details is not None, "checked by the caller"
    reads = in_work.reads()
    for mop in commit.details.mops:
        if isinstance(mop, Commit):
            for key, offset in mop.offsets.items():
                pairs = reads.get(key)
                if pairs and offset - 1 >= pairs[0][0]:
                    detail = f"offset {offset} of {key} is committed, the records from {pairs[0][0]} are in work"
                    yield history.finding(FindingKind.AUTO_COMMIT, key, [commit, in_work], detail, values=(offset,))
