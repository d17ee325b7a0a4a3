"""What comes again after an error that may pass, and when."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Answer, Flush, Pause, Script, Send, Start

LONG: Final = {"linger.ms": 5000}

RETRIABLE: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
)

SCRIPTS: Final = [
    Script(
        name=f"retried-{error.name.lower().replace('_', '-')}",
        config=LONG,
        program=(Start(), Send("a"), Flush(), Pause(300), Send("b", count=2), Flush()),
        answers=(Answer(nth=2, error=error),),
    )
    for error in RETRIABLE
]
