"""abort-class: where a process reads on after a transaction that was aborted: information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.history import EventType
from broker_scenarios.history_checks.facts import Facts, Found
from broker_scenarios.operations import polled_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Call, Process

INFORMATION: Final = "information: how the application goes on after an abort"


def check(facts: Facts) -> Iterator[Found]:
    """One finding for each partition that an aborted transaction had polled and that is polled again."""
    aborted: dict[tuple[Process, str], tuple[int, Call]] = {}
    for call in facts.calls:
        firsts = {key: pairs[0][0] for key, pairs in polled_of(call) if pairs}
        for key, first in firsts.items():
            before = aborted.pop((call.process, key), None)
            if before is not None:
                kind = "rewound" if first == before[0] else "rewound-further" if first < before[0] else "unchanged"
                yield Found(name="abort-class", values=[kind], allowed=INFORMATION, calls=[before[1], call], key=key)
            if call.f == "txn" and call.outcome is EventType.FAIL:
                aborted[call.process, key] = (first, call)
