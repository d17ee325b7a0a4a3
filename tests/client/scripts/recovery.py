"""Rebootstrap: a broker requires it, or no broker responds (KIP-899, KIP-1102)."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Flush, Pause, Response, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
# Metadata is due at once, and its response comes long before a batch may be retried.
SLOW: Final = {"retry.backoff.ms": 400, **LONG}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(700))
STALE: Final = Response(nth=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
REQUIRED: Final = Response(api="Metadata", nth=3, error=ErrorCode.REBOOTSTRAP_REQUIRED)

SCRIPTS: Final = [
    Script(
        name="a-broker-requires-a-rebootstrap",
        config=SLOW,
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        responses=(STALE, REQUIRED),
    ),
    Script(
        name="a-rebootstrap-is-not-wanted",
        config={"metadata.recovery.strategy": "none", **SLOW},
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c"), Flush()),
        responses=(STALE, REQUIRED),
    ),
    Script(
        name="a-rebootstrap-without-any-response",
        config={
            "request.timeout.ms": 1500,
            "metadata.recovery.rebootstrap.trigger.ms": 2950,
            "retry.backoff.ms": 200,
            "retry.backoff.max.ms": 5000,
            "linger.ms": 10,
        },
        # The flush wakes Java's loop, which sleeps on if it woke up in the millisecond of the first time-out.
        program=(*FIRST, Send("b"), Pause(1700), Flush(), Send("c"), Flush()),
        responses=(STALE, Response(api="Metadata", nth=3, times=2, lost=True)),
    ),
]
