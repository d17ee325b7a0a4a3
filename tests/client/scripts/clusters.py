"""Leaders that move, brokers that stop, metadata that changes, brokers of earlier releases."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import (
    Await,
    Ended,
    Flush,
    MoveLeader,
    Pause,
    Response,
    Script,
    Send,
    Start,
    StopListening,
)

LONG: Final = {"linger.ms": 5000}
ALONE: Final = {"linger.ms": 5000, "batch.size": 400}
FIRST: Final = (Start(), Send("first", size=300), Flush(), Pause(200))
# Metadata is due at once when a leader has moved, and received long before a batch may be retried.
SLOW: Final = {"retry.backoff.ms": 400}
LATER: Final = Pause(500)

_MOVES: Final = [
    Script(
        name="the-leader-moves-between-records",
        config={**LONG, **SLOW},
        brokers=2,
        program=(*FIRST, LATER, MoveLeader("t-0", 2), Send("b"), Flush(), Send("c"), Flush()),
    ),
    Script(
        name="the-leader-moves-with-a-hint",
        config={**LONG, **SLOW},
        brokers=2,
        leader_hints=True,
        program=(*FIRST, LATER, MoveLeader("t-0", 2), Send("b"), Flush(), Send("c"), Flush()),
    ),
    Script(
        name="the-leader-moves-with-three-in-flight",
        config={**ALONE, **SLOW},
        brokers=2,
        program=(*FIRST, LATER, MoveLeader("t-0", 2), Send("v", count=3, size=300), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, after=("Produce", 4)),),
    ),
    Script(
        name="the-leader-moves-with-three-in-flight-with-a-hint",
        config={**ALONE, **SLOW},
        brokers=2,
        leader_hints=True,
        program=(*FIRST, LATER, MoveLeader("t-0", 2), Send("v", count=3, size=300), Flush(), Send("c"), Flush()),
        responses=(Response(nth=2, after=("Produce", 4)),),
    ),
    Script(
        name="the-leader-moves-there-and-back",
        config={**LONG, **SLOW},
        brokers=2,
        program=(
            *FIRST,
            LATER,
            MoveLeader("t-0", 2),
            Send("b"),
            Flush(),
            LATER,
            MoveLeader("t-0", 1),
            Send("c"),
            Flush(),
        ),
    ),
    Script(
        name="one-of-two-partitions-moves",
        config={**LONG, **SLOW},
        brokers=2,
        topics={"t": (1, 1)},
        program=(*FIRST, LATER, MoveLeader("t-1", 2), Send("a"), Send("b", partition=1), Flush()),
    ),
    Script(
        name="a-leader-is-elected-late",
        config={"linger.ms": 10},
        topics={"t": (None,)},
        program=(Start(), Send("a"), Await("Metadata", 3), MoveLeader("t-0", 1), Ended(), Send("b"), Ended()),
    ),
    Script(
        name="two-partitions-two-brokers",
        config=LONG,
        brokers=2,
        topics={"t": (1, 2)},
        program=(Start(), Send("a"), Send("b", partition=1), Flush(), Send("c"), Send("d", partition=1), Flush()),
    ),
    Script(
        name="a-fenced-leader-epoch",
        config=LONG,
        program=(*FIRST, Send("b"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.FENCED_LEADER_EPOCH, leader=(1, 1)),),
    ),
    Script(
        name="an-older-leader-hint-is-ignored",
        config={**LONG, **SLOW},
        brokers=2,
        program=(*FIRST, LATER, MoveLeader("t-0", 2), Send("b"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=(1, 0)),),
    ),
]

_AWAY: Final = [
    Script(
        name="the-only-broker-goes-and-comes-back",
        config=LONG,
        program=(*FIRST, StopListening(1, 20), Pause(500), Send("b"), Flush()),
    ),
    Script(
        name="the-leader-goes-and-another-leads",
        config=LONG,
        brokers=2,
        program=(
            *FIRST,
            MoveLeader("t-0", 2),
            StopListening(1, 3000),
            Pause(500),
            Send("b"),
            Flush(),
        ),
        # Java loses two connections in turn, and would send another request if it got a response in between.
        responses=(Response(api="Metadata", nth=3, delay_ms=200),),
    ),
]

_METADATA: Final = [
    Script(
        name="metadata-grow-old",
        config={"metadata.max.age.ms": 600, **LONG},
        program=(Start(), Send("a"), Flush(), Await("Metadata", 4), Send("b"), Flush()),
    ),
    Script(
        name="a-second-topic",
        config=LONG,
        topics={"t": (1,), "u": (1,)},
        program=(Start(), Send("a"), Flush(), Pause(200), Send("b", topic="u"), Flush(), Send("c"), Flush()),
    ),
    Script(
        name="metadata-after-a-second-topic-names-both",
        config=LONG,
        topics={"t": (1,), "u": (1,)},
        program=(
            Start(),
            Send("a"),
            Flush(),
            Send("b", topic="u"),
            Flush(),
            Pause(200),
            Send("c"),
            Flush(),
        ),
        responses=(Response(nth=3, error=ErrorCode.NOT_LEADER_OR_FOLLOWER),),
    ),
    Script(
        name="a-topic-that-may-not-be-seen",
        config={"max.block.ms": 5000, **LONG},
        program=(Start(), Send("a"), Pause(200), Send("b"), Flush()),
        responses=(Response(api="Metadata", nth=2, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),),
    ),
    Script(
        name="a-topic-with-an-invalid-name",
        config={"max.block.ms": 5000, **LONG},
        program=(Start(), Send("a"), Pause(200), Send("b"), Flush()),
        responses=(Response(api="Metadata", nth=2, error=ErrorCode.INVALID_TOPIC_EXCEPTION),),
    ),
    Script(
        name="a-topic-that-is-not-there-yet",
        config={"max.block.ms": 5000, **LONG},
        program=(Start(), Send("a"), Flush()),
        responses=(Response(api="Metadata", nth=2, times=2, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),),
    ),
    Script(
        name="metadata-disconnected",
        config=LONG,
        program=(Start(), Send("a"), Flush()),
        # Java rebootstraps: a call that does not wait for metadata by then would send another request.
        responses=(Response(api="Metadata", nth=2, disconnects=True, delay_ms=200),),
    ),
]

_RELEASES: Final = [
    Script(
        name=f"brokers-of-{release}",
        config=LONG,
        release=release,
        program=(Start(), Send("a", count=2), Flush(), Pause(200), Send("b"), Flush()),
        responses=(Response(nth=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER),),
    )
    for release in ("2.1.1", "2.3.1", "2.7.2", "3.2.3", "3.7.2", "4.0.0")
]

SCRIPTS: Final = [*_MOVES, *_AWAY, *_METADATA, *_RELEASES]
