"""What goes into a batch, what goes into a request: linger, size, acks, codecs, keys, flush and close."""

from __future__ import annotations

from typing import Final

from tests.client.producer_script import Close, Ended, Flush, Pause, Script, Send, Start

LONG: Final = {"linger.ms": 5000}
SMALL: Final = {"linger.ms": 5000, "batch.size": 400}

SCRIPTS: Final = [
    Script(name="one-record", program=(Start(), Send("a"), Ended())),
    Script(name="no-pause-before-the-first-record", config=LONG, program=(Send("a"), Flush())),
    Script(name="linger-ends", config={"linger.ms": 60}, program=(Start(), Send("a", count=3), Ended())),
    Script(
        name="full-batches-do-not-linger",
        config={"linger.ms": 400, "batch.size": 400},
        program=(Start(), Send("v", count=10, size=100), Ended()),
    ),
    Script(name="flush-ends-linger", config=LONG, program=(Start(), Send("a", count=5), Flush())),
    Script(
        name="acks-0",
        config={"acks": "0", **LONG},
        program=(Start(), Send("a"), Flush(), Pause(50), Send("b"), Flush()),
    ),
    Script(name="acks-1", config={"acks": "1", **LONG}, program=(Start(), Send("a"), Flush(), Send("b"), Flush())),
    Script(
        name="acks-all-without-idempotence",
        config={"enable.idempotence": False, **LONG},
        program=(Start(), Send("a"), Flush(), Send("b"), Flush()),
    ),
    Script(
        name="two-partitions-in-one-request",
        config=LONG,
        topics={"t": (1, 1)},
        program=(Start(), Send("a", partition=0), Send("b", partition=1), Flush()),
    ),
    Script(name="close-sends-what-lingers", config=LONG, program=(Start(), Send("a", count=3), Close())),
    Script(
        name="timestamps-are-the-records-own",
        config=LONG,
        program=(Start(), Send("a", timestamp_ms=2000), Send("b", timestamp_ms=1000), Flush()),
    ),
]
