"""Beginning anew with bootstrap.servers: a broker asks for it, or nobody answers (KIP-899, KIP-1102)."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Answer, Flush, Pause, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(200))
STALE: Final = Answer(nth=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
ASKED_FOR: Final = Answer(api="Metadata", nth=3, error=ErrorCode.REBOOTSTRAP_REQUIRED)

SCRIPTS: Final = [
    Script(
        name="a-broker-asks-for-a-rebootstrap",
        config=LONG,
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        answers=(STALE, ASKED_FOR),
    ),
    Script(
        name="a-rebootstrap-is-not-wanted",
        config={"metadata.recovery.strategy": "none", **LONG},
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        answers=(STALE, ASKED_FOR),
    ),
    Script(
        name="a-rebootstrap-when-nobody-answers",
        config={"request.timeout.ms": 1000, "metadata.recovery.rebootstrap.trigger.ms": 1700, **LONG},
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        answers=(STALE, Answer(api="Metadata", nth=3, times=2, lost=True)),
    ),
]
