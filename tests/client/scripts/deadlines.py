"""Splits, time-outs and expiries: MESSAGE_TOO_LARGE, request.timeout.ms, delivery.timeout.ms, max.block.ms."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Ended, Flush, Pause, Response, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
ALONE: Final = {"linger.ms": 5000, "batch.size": 400}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(200))
# Attempts are at 0, about 250 and about 750 ms; the next would be after 1750 ms.
THRICE: Final = {"retry.backoff.ms": 250, "retry.backoff.max.ms": 2000}

# Java estimates compression per topic for a whole JVM: each script with compression has its own topic.
_SPLITS: Final = [
    Script(
        name=f"split-{name}",
        config={"compression.type": codec, "batch.size": 1000, "enable.idempotence": idempotent, **LONG},
        topics={name: (1,)},
        program=(
            Start(),
            Send("first", topic=name),
            Flush(),
            Send("v", topic=name, count=8, size=200),
            Flush(),
            Send("z", topic=name),
            Flush(),
        ),
        responses=(Response(nth=2, error=ErrorCode.MESSAGE_TOO_LARGE, after=("Produce", in_flight + 1)),),
    )
    for name, codec, idempotent, in_flight in (
        ("plain", "none", False, 2),
        ("idempotent", "none", True, 2),
        ("gzip", "gzip", True, 4),
        ("zstd", "zstd", True, 4),
        ("lz4", "lz4", True, 4),
        ("snappy", "snappy", False, 4),
    )
] + [
    Script(
        name="split-twice",
        config={"batch.size": 1000, **LONG},
        program=(*FIRST, Send("v", count=4, size=200), Flush(), Send("z"), Flush()),
        responses=(Response(nth=2, times=2, error=ErrorCode.MESSAGE_TOO_LARGE),),
    ),
    Script(
        name="split-until-it-is-small-enough",
        config={"batch.size": 1000, **LONG},
        program=(*FIRST, Send("v", count=4, size=200), Flush(), Send("z"), Flush()),
        max_batch_bytes=400,
    ),
    Script(
        name="split-with-others-in-flight",
        config={"compression.type": "gzip", "batch.size": 500, **LONG},
        topics={"others": (1,)},
        program=(
            Start(),
            Send("first", topic="others"),
            Flush(),
            Send("v", topic="others", count=9, size=100),
            Flush(),
        ),
        responses=(Response(nth=2, error=ErrorCode.MESSAGE_TOO_LARGE, after=("Produce", 6)),),
    ),
]

_REQUESTS: Final = [
    Script(
        name="a-request-without-response-is-repeated",
        config={"request.timeout.ms": 800, **LONG, "linger.ms": 4000},
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, lost=True),),
    ),
    Script(
        name="a-written-request-without-response-is-repeated",
        config={"request.timeout.ms": 800, **LONG},
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, lost=True, appends=True),),
    ),
    Script(
        name="three-requests-without-response-are-repeated",
        config={"request.timeout.ms": 800, **ALONE},
        program=(*FIRST, Send("v", count=3, size=300), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, lost=True),),
    ),
    Script(
        name="metadata-without-response-is-requested-again",
        config={"request.timeout.ms": 800, **LONG},
        program=(Start(), Send("a"), Flush()),
        responses=(Response(api="Metadata", nth=2, lost=True),),
    ),
    Script(
        name="api-versions-without-response-is-requested-again",
        config={"request.timeout.ms": 400, **LONG},
        program=(Start(), Send("a"), Flush()),
        responses=(Response(api="ApiVersions", nth=2, lost=True),),
    ),
]

_EXPIRIES: Final = [
    Script(
        name="expired-in-flight",
        config={"request.timeout.ms": 1500, "delivery.timeout.ms": 2200, "linger.ms": 10},
        # The first attempt times out, the second is in flight when the batch expires. If Java's loop wakes up in the
        # millisecond of a time-out, it sleeps until the batch expires: the flush wakes it. Another record comes
        # before the response: without it, it would be random whether the loop runs, and starts an epoch, before the
        # response.
        program=(*FIRST, Send("b"), Pause(1700), Flush(), Pause(50), Send("c"), Flush()),
        responses=(Response(nth=2, lost=True), Response(nth=3, delay_ms=1250)),
    ),
    Script(
        name="expired-while-retried",
        config={"request.timeout.ms": 1000, "delivery.timeout.ms": 1150, "linger.ms": 10, **THRICE},
        program=(*FIRST, Send("b"), Ended(), Pause(400), Send("c"), Ended()),
        responses=(Response(nth=2, times=3, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="expired-while-retried-without-idempotence",
        config={
            "request.timeout.ms": 1000,
            "delivery.timeout.ms": 1150,
            "linger.ms": 10,
            "enable.idempotence": False,
            **THRICE,
        },
        program=(*FIRST, Send("b"), Ended(), Pause(400), Send("c"), Ended()),
        responses=(Response(nth=2, times=3, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
    Script(
        name="expired-without-a-leader",
        config={"request.timeout.ms": 900, "delivery.timeout.ms": 1000, "linger.ms": 10},
        topics={"t": (None,)},
        program=(Start(), Send("a"), Ended()),
        # The last is held, so that no other request is sent before the batch expires.
        responses=(Response(api="Metadata", nth=5, delay_ms=2000),),
    ),
    Script(
        name="expired-behind-a-slow-request",
        config={
            "request.timeout.ms": 1500,
            "delivery.timeout.ms": 1600,
            "linger.ms": 10,
            "max.in.flight.requests.per.connection": 1,
        },
        program=(*FIRST, Send("b"), Pause(100), Send("c"), Ended(), Send("d"), Ended()),
        responses=(Response(nth=2, delay_ms=1100), Response(nth=3, delay_ms=1100)),
    ),
]

_BLOCKED: Final = [
    Script(
        name="a-topic-that-is-not-there",
        config={"max.block.ms": 1400, "retry.backoff.ms": 300, "retry.backoff.max.ms": 3000, **LONG},
        program=(Start(), Send("a", topic="missing"), Ended(), Send("b"), Flush()),
    ),
    Script(
        name="a-partition-that-is-not-there",
        config={"max.block.ms": 1400, "retry.backoff.ms": 300, "retry.backoff.max.ms": 3000, **LONG},
        program=(Start(), Send("a"), Flush(), Pause(500), Send("b", partition=3), Send("c"), Flush()),
    ),
]

SCRIPTS: Final = [*_SPLITS, *_REQUESTS, *_EXPIRIES, *_BLOCKED]
