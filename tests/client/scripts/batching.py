"""The contents of batches and requests: linger, size, acks, codecs, keys, memory."""

from __future__ import annotations

from typing import Final

from tests.client.producer_script import Ended, Flush, Pause, Response, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
ROUND_ROBIN: Final = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

_PLAIN: Final = [
    Script(name="one-record", program=(Start(), Send("a"), Ended())),
    Script(
        name="no-pause-before-the-first-record",
        config=LONG,
        program=(Send("a"), Flush()),
        # No request can be sent before the record is there.
        responses=(Response(api="ApiVersions", delay_ms=300),),
    ),
    Script(name="linger-ends", config={"linger.ms": 300}, program=(Start(), Send("a", count=3), Ended())),
    Script(
        name="full-batches-do-not-linger",
        config={"linger.ms": 400, "batch.size": 400},
        program=(Start(), Send("v", count=10, size=100), Ended()),
    ),
    Script(
        name="one-by-one-without-linger",
        config={"linger.ms": 0},
        program=(Start(), Send("a"), Ended(), Send("b"), Ended(), Send("c"), Ended()),
    ),
    Script(name="batch-size-0", config={"batch.size": 0, **LONG}, program=(Start(), Send("a", count=3), Flush())),
    Script(
        name="a-record-larger-than-a-batch-is-alone",
        config={"batch.size": 300, **LONG},
        program=(Start(), Send("a"), Send("b", size=900), Send("c"), Flush()),
    ),
    Script(
        name="timestamps-are-the-records-own",
        config=LONG,
        program=(Start(), Send("a", timestamp_ms=2000), Send("b", timestamp_ms=1000), Flush()),
    ),
    Script(name="null-values", config=LONG, program=(Start(), Send(None, key="k"), Send("b"), Flush())),
    Script(
        name="two-topics-in-one-request",
        config=LONG,
        topics={"t": (1,), "u": (1,)},
        program=(Start(), Send("a"), Send("b", topic="u"), Send("c"), Flush()),
    ),
    Script(
        name="a-record-larger-than-a-request-fails",
        config={"max.request.size": 1000, **LONG},
        program=(Start(), Send("a"), Send("b", size=2000), Send("c"), Flush()),
    ),
    Script(
        name="one-batch-a-partition-in-a-request",
        config={"linger.ms": 5000, "batch.size": 300},
        topics={"t": (1,)},
        program=(Start(), Send("v", count=5, size=200), Flush()),
    ),
]

_ACKS: Final = [
    Script(
        name=f"acks-{acks}", config={"acks": acks, **LONG}, program=(Start(), Send("a"), Flush(), Send("b"), Flush())
    )
    for acks in ("0", "1", "-1")
] + [
    Script(
        name="acks-all-without-idempotence",
        config={"enable.idempotence": False, **LONG},
        program=(Start(), Send("a"), Flush(), Send("b"), Flush()),
    )
]

_CODECS: Final = [
    Script(
        name=f"compressed-with-{codec}",
        config={"compression.type": codec, **LONG},
        topics={codec: (1,)},
        program=(
            Start(),
            Send("a", topic=codec, count=20, size=100),
            Flush(),
            Send("b", topic=codec, count=3, key="k"),
            Flush(),
        ),
    )
    for codec in ("gzip", "snappy", "lz4", "zstd")
]

_PARTITIONERS: Final = [
    Script(
        name="two-partitions-in-one-request",
        config=LONG,
        topics={"t": (1, 1)},
        program=(Start(), Send("a", partition=0), Send("b", partition=1), Flush()),
    ),
    Script(
        name="keys-choose-partitions",
        config=LONG,
        topics={"t": (1, 1, 1, 1)},
        program=(Start(), *(Send(f"v{key}", partition=None, key=key) for key in "abcdefghij"), Flush()),
    ),
    Script(name="sticky-partition", config=LONG, program=(Start(), Send("a", partition=None, count=4), Flush())),
    Script(
        name="keys-ignored",
        config={"partitioner.ignore.keys": True, **LONG},
        program=(Start(), Send("a", partition=None, key="k", count=2), Flush()),
    ),
    Script(
        name="round-robin",
        config={"partitioner.class": ROUND_ROBIN, **LONG},
        # Java walks over partitions in the order of a hash table, which for these two is that of their numbers.
        topics={"o": (1, 1)},
        program=(Start(), Send("a", topic="o", partition=None, count=5), Flush()),
    ),
    Script(
        name="an-empty-key-is-a-key",
        config=LONG,
        topics={"t": (1, 1, 1)},
        program=(Start(), Send("a", partition=None, key="", count=2), Flush()),
    ),
]

_MEMORY: Final = [
    Script(
        name="memory-runs-out-and-comes-back",
        config={"buffer.memory": 900, "batch.size": 400, **LONG},
        program=(Start(), Send("v", count=6, size=300), Flush()),
    ),
    Script(
        name="memory-does-not-come-back-in-time",
        config={"buffer.memory": 900, "batch.size": 400, "max.block.ms": 300, **LONG},
        program=(Start(), Send("v", count=3, size=300), Flush()),
        responses=(Response(delay_ms=700),),
    ),
]

_THROTTLED: Final = [
    Script(
        name="throttled-records-gather",
        config={"linger.ms": 20},
        program=(Start(), Send("a"), Ended(), Send("b"), Pause(100), Send("c"), Pause(100), Send("d"), Ended()),
        responses=(Response(throttle_ms=900),),
    ),
    Script(
        name="throttled-by-metadata",
        config={"linger.ms": 20},
        program=(Start(), Send("a"), Send("b"), Pause(100), Send("c"), Ended()),
        responses=(Response(api="Metadata", nth=2, throttle_ms=700),),
    ),
]

SCRIPTS: Final = [*_PLAIN, *_ACKS, *_CODECS, *_PARTITIONERS, *_MEMORY, *_THROTTLED]
