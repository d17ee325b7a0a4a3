"""Retries after retriable errors: their order and number."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Flush, Pause, Response, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
# Each record of 300 bytes is a batch of its own.
ALONE: Final = {"linger.ms": 5000, "batch.size": 400}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(200))

RETRIABLE: Final = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
)

_EACH: Final = [
    Script(
        name=f"retried-{error.name.lower().replace('_', '-')}",
        config=LONG,
        program=(*FIRST, Send("b", count=2), Flush()),
        responses=(Response(nth=2, error=error),),
    )
    for error in RETRIABLE
]

_WRITTEN: Final = [
    Script(
        name="retried-though-written",
        config=LONG,
        program=(*FIRST, Send("b", count=2), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, appends=True),),
    ),
    Script(
        name="retried-three-times",
        config=LONG,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, times=3, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="one-partition-of-a-request-is-retried",
        config=LONG,
        topics={"t": (1, 1)},
        program=(*FIRST, Send("a"), Send("b", partition=1), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS, partitions=("t-1",)),),
    ),
]

_LIMITED: Final = [
    Script(
        name=f"retries-{retries}-{kind}",
        config={"retries": retries, "enable.idempotence": idempotent, **LONG},
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, times=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    )
    for retries, idempotent, kind in ((1, False, "plain"), (1, True, "idempotent"), (2, True, "idempotent"))
] + [
    Script(
        name="retries-0",
        config={"retries": 0, "enable.idempotence": False, **LONG},
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    )
]

_IN_FLIGHT: Final = [
    Script(
        name="reordered-without-idempotence",
        config={"enable.idempotence": False, **ALONE},
        program=(*FIRST, Send("v", count=4, size=300), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS, after=("Produce", 5)),),
    ),
    Script(
        name="one-in-flight-keeps-order",
        config={"enable.idempotence": False, "max.in.flight.requests.per.connection": 1, **ALONE},
        program=(*FIRST, Send("v", count=4, size=300), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="one-in-flight-idempotent",
        config={"max.in.flight.requests.per.connection": 1, **ALONE},
        program=(*FIRST, Send("v", count=4, size=300), Flush()),
        responses=(Response(nth=3, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="two-in-flight",
        config={"max.in.flight.requests.per.connection": 2, **ALONE},
        program=(*FIRST, Send("v", count=6, size=300), Flush()),
        responses=(Response(nth=2, after=("Produce", 3), delay_ms=100),),
    ),
]

SCRIPTS: Final = [*_EACH, *_WRITTEN, *_LIMITED, *_IN_FLIGHT]
