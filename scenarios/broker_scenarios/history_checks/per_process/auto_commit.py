"""auto-commit: an automatic commit covers records of the batch that the application still works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.operations import polled_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each commit.

    The batch in work is that of the last poll that has returned; a commit within a poll comes after the work on the
    batch before, and is compared with what that poll returns.
    """
    polls: dict[Process, list[Call]] = {}
    for call in facts.calls:
        if call.f in {"poll", "txn"}:
            polls.setdefault(call.process, []).append(call)
    for call in facts.calls:
        if call.f != "commit" or not (call.invoked.auto or (call.completed is not None and call.completed.auto)):
            continue
        working = _poll_at(polls.get(call.process, []), call.invoked.index)
        if working is None:
            continue
        firsts = {key: pairs[0][0] for key, pairs in polled_of(working) if pairs}
        committed = {
            key: offset for mop in call.result if mop[0] == "commit" and len(mop) > 1 for key, offset in mop[1].items()
        }
        early = [offset for key, offset in committed.items() if key in firsts and offset - 1 >= firsts[key]]
        if early:
            yield Found(name="auto-commit", values=early, calls=[working, call])


def _poll_at(polls: list[Call], index: int) -> Call | None:
    """The poll whose batch is in work at a place of the history: the last that began before it."""
    return next((call for call in reversed(polls) if call.invoked.index < index), None)
