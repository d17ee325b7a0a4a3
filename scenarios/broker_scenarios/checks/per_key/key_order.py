"""key-order: a process polls two records of one message key, from two partitions, against the order of sending.

A partition keeps the order of its records, and records of one key stay in one partition as long as the number of
partitions does. The order of sending is that of one process, or of a send that ended before the other began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.checks.whole_history import forgotten_keys
from broker_scenarios.findings import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call, Send
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["key_order"]


def key_order(history: WholeHistory) -> Iterator[Finding]:
    """Find records that a process polls after a later one of their message key; one finding per pair of neighbours."""
    if not history.message_keys:
        return
    for calls in history.by_process().values():
        last: dict[str, tuple[Send, Call]] = {}
        for call in calls:
            gone = forgotten_keys(call, list(dict.fromkeys(send.key for send, _ in last.values())))
            if gone:
                last = {name: each for name, each in last.items() if each[0].key not in gone}
            read: dict[str, tuple[Send, Call]] = {}
            for key, pairs in call.polls:
                for _, value in pairs:
                    name = history.message_keys.get(str(value))
                    sends = history.analyses[key].sends_of.get(value, ())
                    if name is None or len(sends) != 1:
                        continue
                    before = last.get(name)
                    if before is not None and before[0].key != key and _is_before(sends[0], before[0]):
                        values = before[0].value_id, value
                        detail = f"message key {name!r}: value {value} of {key} is polled after value {values[0]}"
                        yield history.finding(FindingKind.KEY_ORDER, key, [before[1], call], detail, values=values)
                    read[name] = sends[0], call
            if call.ok:
                last.update(read)


def _is_before(first: Send, second: Send) -> bool:
    if first.process == second.process:
        return first.index < second.index
    return 0 <= first.complete_us < second.invoke_us
