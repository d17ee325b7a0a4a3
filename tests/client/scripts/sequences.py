"""Idempotence: sequences and epochs after an error, with up to five requests in flight."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import Disconnect, Ended, Flush, Pause, Response, Script, Send, Start

# Each record of 300 bytes is a batch of its own.
ALONE: Final = {"linger.ms": 5000, "batch.size": 400}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(200))

_IN_FLIGHT: Final = [
    Script(
        name=f"{which}-of-five-in-flight-fails-{times}-times",
        config=ALONE,
        program=(*FIRST, Send("v", count=5, size=300), Flush(), Send("z"), Flush()),
        responses=(
            Response(nth=nth, error=ErrorCode.NOT_ENOUGH_REPLICAS, after=("Produce", 6)),
            *((Response(nth=7, times=times - 1, error=ErrorCode.NOT_ENOUGH_REPLICAS),) if times > 1 else ()),
        ),
    )
    for which, nth, times in (("first", 2, 1), ("third", 4, 1), ("fifth", 6, 1), ("first", 2, 2))
]

_MORE: Final = [
    Script(
        name="seven-batches-five-in-flight",
        config=ALONE,
        program=(*FIRST, Send("v", count=7, size=300), Flush()),
        responses=(Response(nth=2, after=("Produce", 6), delay_ms=100),),
    ),
    Script(
        name="a-written-one-of-five-is-retried",
        config=ALONE,
        program=(*FIRST, Send("v", count=5, size=300), Flush(), Send("z"), Flush()),
        responses=(Response(nth=3, error=ErrorCode.REQUEST_TIMED_OUT, appends=True, after=("Produce", 6)),),
    ),
    Script(
        name="a-failed-one-of-five",
        config=ALONE,
        program=(*FIRST, Send("v", count=5, size=300), Flush(), Send("z"), Flush()),
        responses=(Response(nth=4, error=ErrorCode.INVALID_TIMESTAMP, after=("Produce", 6)),),
    ),
    Script(
        name="five-in-flight-on-two-partitions",
        config=ALONE,
        topics={"t": (1, 1)},
        program=(
            *FIRST,
            Send("v", count=2, size=300),
            Pause(300),
            Send("w", partition=1, count=2, size=300),
            Pause(300),
            Flush(),
        ),
        responses=(Response(nth=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
    ),
]

_LOST_SEQUENCES: Final = [
    Script(
        name="out-of-order-though-next-begins-an-epoch",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),),
    ),
    Script(
        name="out-of-order-with-others-in-flight-begins-an-epoch",
        config=ALONE,
        program=(*FIRST, Send("v", count=3, size=300), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, times=3, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, after=("Produce", 4)),),
    ),
    Script(
        name="unknown-producer-id-begins-an-epoch",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=1),),
    ),
    Script(
        name="unknown-producer-id-without-log-start-offset",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.UNKNOWN_PRODUCER_ID),),
    ),
    Script(
        name="unknown-producer-id-with-others-in-flight",
        config=ALONE,
        program=(*FIRST, Send("v", count=3, size=300), Flush(), Send("c"), Flush()),
        responses=(
            Response(nth=2, times=3, error=ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=1, after=("Produce", 4)),
        ),
    ),
    Script(
        name="an-epoch-begins-for-one-partition-of-two",
        config=ALONE,
        topics={"t": (1, 1)},
        program=(
            *FIRST,
            Send("other", partition=1),
            Flush(),
            Send("b"),
            Flush(),
            Pause(200),
            Send("c", partition=1),
            Flush(),
            Send("d"),
            Flush(),
        ),
        responses=(Response(nth=3, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),),
    ),
]

_IDS: Final = [
    Script(
        name=f"id-refused-with-{error.name.lower().replace('_', '-')}",
        config={"linger.ms": 60},
        program=(Start(), Pause(400), Send("a"), Ended(), Send("b"), Ended()),
        responses=(Response(api="InitProducerId", error=error),),
    )
    for error in (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )
] + [
    Script(
        name="id-request-disconnected",
        config={"linger.ms": 60},
        program=(Start(), Pause(600), Send("a"), Ended()),
        responses=(Response(api="InitProducerId", disconnects=True, delay_ms=300),),
    ),
    Script(
        name="id-request-without-response",
        config={"linger.ms": 60, "request.timeout.ms": 800},
        program=(Start(), Pause(2000), Send("a"), Ended()),
        responses=(Response(api="InitProducerId", lost=True),),
    ),
    Script(
        name="id-response-comes-late",
        config={"linger.ms": 10},
        program=(Start(), Send("a"), Pause(50), Send("b"), Ended()),
        responses=(Response(api="InitProducerId", delay_ms=700),),
    ),
]

_DISCONNECTED: Final = [
    Script(
        name="disconnected-between-records",
        config=ALONE,
        program=(*FIRST, Disconnect(), Pause(500), Send("b"), Flush()),
    ),
    Script(
        name="disconnected-with-one-in-flight",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, disconnects=True),),
    ),
    Script(
        name="disconnected-after-the-append",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, disconnects=True, appends=True),),
    ),
    Script(
        name="disconnected-with-five-in-flight",
        config=ALONE,
        program=(*FIRST, Send("v", count=5, size=300), Flush(), Send("z"), Flush()),
        responses=(Response(nth=2, disconnects=True, after=("Produce", 6)),),
    ),
    Script(
        name="disconnected-with-five-in-flight-and-written",
        config=ALONE,
        program=(*FIRST, Send("v", count=5, size=300), Flush(), Send("z"), Flush()),
        responses=(Response(nth=2, disconnects=True, appends=True, after=("Produce", 6)),),
    ),
    Script(
        name="disconnected-without-idempotence",
        config={"enable.idempotence": False, **ALONE},
        program=(*FIRST, Send("v", count=3, size=300), Flush()),
        responses=(Response(nth=2, disconnects=True, after=("Produce", 4)),),
    ),
    Script(
        name="disconnected-with-acks-0",
        config={"acks": "0", "linger.ms": 5000},
        program=(*FIRST, Send("b"), Flush(), Pause(500), Send("c"), Flush(), Pause(50)),
        responses=(Response(nth=2, disconnects=True),),
    ),
    Script(
        name="disconnected-twice",
        config=ALONE,
        program=(*FIRST, Send("b"), Flush(), Send("c"), Flush()),
        # Late: metadata is due by then, and requested before a connection may be retried.
        responses=(Response(nth=2, times=2, disconnects=True, delay_ms=300),),
    ),
]

SCRIPTS: Final = [*_IN_FLIGHT, *_MORE, *_LOST_SEQUENCES, *_IDS, *_DISCONNECTED]
