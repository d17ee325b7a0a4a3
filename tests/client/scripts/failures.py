"""Fatal errors of records, and the epoch and sequence of the next record; flush and close in between."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Await, Close, Ended, Flush, Pause, Response, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
FIRST: Final = (Start(), Send("first"), Flush(), Pause(200))

FATAL: Final = (
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.POLICY_VIOLATION,
    ErrorCode.INVALID_RECORD,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
)

_EACH: Final = [
    Script(
        name=f"failed-{error.name.lower().replace('_', '-')}",
        config=LONG,
        program=(*FIRST, Send("b"), Flush(), Pause(200), Send("c", count=2), Flush()),
        responses=(Response(nth=2, error=error),),
    )
    for error in FATAL
]

_PLAIN: Final = [
    Script(
        name="failed-without-idempotence",
        config={"enable.idempotence": False, **LONG},
        program=(*FIRST, Send("b"), Flush(), Send("c", count=2), Flush()),
        responses=(Response(nth=2, error=ErrorCode.INVALID_RECORD, record_errors={0: "no"}),),
    ),
    Script(
        name="one-bad-record-fails-its-batch",
        config=LONG,
        program=(*FIRST, Send("b", count=3), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.INVALID_RECORD, record_errors={1: "no"}),),
    ),
    Script(
        name="failed-with-others-in-flight",
        config={"linger.ms": 5000, "batch.size": 400},
        program=(*FIRST, Send("v", count=4, size=300), Flush()),
        responses=(Response(nth=3, error=ErrorCode.INVALID_TIMESTAMP, after=("Produce", 5)),),
    ),
]

_CLOSED: Final = [
    Script(name="close-sends-what-lingers", config=LONG, program=(Start(), Send("a", count=3), Close())),
    Script(name="close-at-once-sends-nothing", config=LONG, program=(*FIRST, Send("a", count=3), Close(0))),
    Script(
        name="close-gives-up-a-response-that-never-comes",
        config=LONG,
        program=(*FIRST, Send("a", count=3), Close(300)),
        responses=(Response(nth=2, lost=True),),
    ),
    Script(
        name="close-waits-for-a-retry",
        config=LONG,
        program=(*FIRST, Send("a", count=3), Close()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="close-behind-a-flush",
        config=LONG,
        program=(*FIRST, Send("a"), Flush(waits=False), Await("Produce", 2), Close()),
        responses=(Response(nth=2, delay_ms=200),),
    ),
    Script(name="nothing-to-flush", config=LONG, program=(Start(), Flush(), Send("a"), Flush(), Flush(), Ended())),
]

SCRIPTS: Final = [*_EACH, *_PLAIN, *_CLOSED]
