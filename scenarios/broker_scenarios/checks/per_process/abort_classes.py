"""abort-class: where a consumer reads on after its transaction was aborted. Information.

It is to rewind to the first record that the transaction polled (`rewound`); one that reads earlier records has
`rewound-further`, one that reads later ones is `unchanged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.whole_history import forgotten_keys
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["abort_classes"]

REWOUND: Final = "rewound"
REWOUND_FURTHER: Final = "rewound-further"
UNCHANGED: Final = "unchanged"


def abort_classes(history: WholeHistory) -> Iterator[Finding]:
    """Find the class of each aborted poll; one finding per operation and partition that is read again."""
    for calls in history.by_process().values():
        aborted: dict[str, tuple[int, Call]] = {}
        for call in calls:
            for key in forgotten_keys(call, list(aborted)):
                del aborted[key]
            for key, pairs in call.reads().items() if call.polls else ():
                if key in aborted:
                    first, before = aborted.pop(key)
                    now = pairs[0][0]
                    found = REWOUND if now == first else REWOUND_FURTHER if now < first else UNCHANGED
                    detail = f"the transaction had read {key} from offset {first}, its consumer reads on at {now}"
                    yield history.finding(FindingKind.ABORT_CLASS, key, [before, call], detail, values=(found,))
                if call.transactional and call.type in (EventType.FAIL, EventType.INFO):
                    aborted[key] = pairs[0][0], call
