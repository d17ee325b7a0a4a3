"""Beginning anew with bootstrap.servers: a broker asks for it, or nobody answers (KIP-899, KIP-1102)."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Answer, Flush, Pause, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
# Metadata are due at once, and answered long before a batch may be tried again.
SLOW: Final = {"retry.backoff.ms": 400, **LONG}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(700))
STALE: Final = Answer(nth=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
ASKED_FOR: Final = Answer(api="Metadata", nth=3, error=ErrorCode.REBOOTSTRAP_REQUIRED)

SCRIPTS: Final = [
    Script(
        name="a-broker-asks-for-a-rebootstrap",
        config=SLOW,
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        answers=(STALE, ASKED_FOR),
    ),
    Script(
        name="a-rebootstrap-is-not-wanted",
        config={"metadata.recovery.strategy": "none", **SLOW},
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        answers=(STALE, ASKED_FOR),
    ),
    Script(
        name="a-rebootstrap-when-nobody-answers",
        config={
            "request.timeout.ms": 1500,
            "metadata.recovery.rebootstrap.trigger.ms": 2950,
            "retry.backoff.ms": 200,
            "retry.backoff.max.ms": 5000,
            "linger.ms": 10,
        },
        # The flush wakes Java's loop, in case it woke in the very millisecond of the first time-out, and slept on.
        program=(*FIRST, Send("b"), Pause(1700), Flush(), Send("c"), Flush()),
        answers=(STALE, Answer(api="Metadata", nth=3, times=2, lost=True)),
    ),
]
