"""Successful transactions, in both generations of the protocol (KIP-890), and calls in a wrong order."""

from __future__ import annotations

from typing import Final

from tests.client.producer_script import (
    Await,
    Close,
    Disconnect,
    Finalize,
    Flush,
    MoveCoordinator,
    Pause,
    Script,
    Send,
    SendOffsets,
    Start,
    Step,
    Transact,
)

VERSION: Final = "transaction.version"
GENERATIONS: Final = {"v1": {VERSION: 1}, "v2": {VERSION: 2}}
TXN: Final = {"transactional.id": "id", "linger.ms": 5000, "retry.backoff.ms": 50}
# After a pause before a disconnection, metadata is due at once, and not before a retry of a connection by chance.
RECONNECTING: Final = {"transactional.id": "id", "linger.ms": 5000}
INIT: Final[tuple[Step, ...]] = (Start(), Transact("init"))
BEGIN: Final = Transact("begin")
COMMIT: Final = Transact("commit")
ABORT: Final = Transact("abort")
NEXT: Final[tuple[Step, ...]] = (BEGIN, Send("next"), COMMIT)


def joined(generation: str, count: int = 1) -> Step:
    """Wait until partitions have joined, which only the first generation requests."""
    return Await("AddPartitionsToTxn", count) if generation == "v1" else Pause(20)


_BOTH: Final = [
    script
    for generation, features in GENERATIONS.items()
    for script in (
        Script(
            name=f"txn-{generation}-commits-twice",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a", count=3), COMMIT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-aborts-what-was-written",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a", count=3), Flush(), ABORT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-aborts-what-was-not-sent",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a"), joined(generation), Pause(200), ABORT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-empty-ones-send-nothing",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, COMMIT, BEGIN, ABORT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-partitions-join-one-by-one",
            config=TXN,
            features=features,
            topics={"t": (1, 1, 1)},
            program=(
                *INIT,
                BEGIN,
                Send("a"),
                Flush(),
                Send("b", partition=1),
                Flush(),
                Send("c", partition=2),
                Send("d"),
                COMMIT,
                BEGIN,
                Send("e", partition=1),
                COMMIT,
            ),
        ),
        Script(
            name=f"txn-{generation}-on-three-brokers",
            config=TXN,
            features=features,
            brokers=3,
            topics={"t": (1, 2, 3)},
            program=(
                *INIT,
                BEGIN,
                Send("a", partition=0, count=2),
                joined(generation),
                Send("b", partition=1),
                joined(generation, 2),
                Send("c", partition=2),
                joined(generation, 3),
                Pause(200),
                COMMIT,
                BEGIN,
                Send("w", partition=2),
                COMMIT,
            ),
        ),
        Script(
            name=f"txn-{generation}-commits-offsets-with-records",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), SendOffsets({"in-0": 5, "in-1": 7}), COMMIT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-commits-offsets-alone",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, SendOffsets({"in-0": 5}, generation=3, member="m"), COMMIT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-aborts-offsets",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, SendOffsets({"in-0": 5}), ABORT, BEGIN, SendOffsets({"in-0": 5}), COMMIT),
        ),
        Script(
            name=f"txn-{generation}-the-group-has-a-broker-of-its-own",
            config=TXN,
            features=features,
            brokers=2,
            program=(
                *INIT,
                MoveCoordinator(2, "group"),
                BEGIN,
                SendOffsets({"in-0": 5}),
                SendOffsets({"in-0": 6}),
                COMMIT,
                BEGIN,
                SendOffsets({"in-0": 7}),
                COMMIT,
            ),
        ),
        Script(
            name=f"txn-{generation}-close-aborts",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), Close()),
        ),
        Script(
            name=f"txn-{generation}-close-at-once-does-not-abort",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), Close(0)),
        ),
        Script(
            name=f"txn-{generation}-five-in-flight",
            config={**TXN, "batch.size": 400},
            features=features,
            program=(
                *INIT,
                BEGIN,
                Send("first", size=300),
                Flush(),
                Pause(200),
                Send("v", count=6, size=300),
                COMMIT,
                *NEXT,
            ),
        ),
        Script(
            name=f"txn-{generation}-another-broker-coordinates",
            config=TXN,
            features=features,
            brokers=2,
            program=(
                Start(),
                MoveCoordinator(2),
                MoveCoordinator(2, "group"),
                Transact("init"),
                BEGIN,
                Send("a"),
                Flush(),
                SendOffsets({"in-0": 5}),
                COMMIT,
                *NEXT,
            ),
        ),
        Script(
            name=f"txn-{generation}-one-in-flight-and-a-time-out-of-its-own",
            config={
                **TXN,
                "batch.size": 400,
                "max.in.flight.requests.per.connection": 1,
                "transaction.timeout.ms": 5000,
                "compression.type": "gzip",
            },
            features=features,
            program=(*INIT, BEGIN, Send("first", size=300), Flush(), Send("v", count=3, size=300), COMMIT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-keys-choose-partitions",
            config=TXN,
            features=features,
            topics={"t": (1, 1), "u": (1,)},
            program=(
                *INIT,
                BEGIN,
                Send("a", partition=None, key="one"),
                Flush(),
                Send("b", partition=None, key="two"),
                Flush(),
                Send("c", topic="u"),
                Flush(),
                ABORT,
                *NEXT,
            ),
        ),
        Script(
            name=f"txn-{generation}-disconnected-in-between",
            config=RECONNECTING,
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Pause(300), Disconnect(), Pause(300), Send("b"), COMMIT, *NEXT),
        ),
    )
]

_ORDER: Final = [
    Script(name="txn-begin-before-init", config=TXN, program=(Start(), BEGIN, COMMIT, ABORT, Transact("init"), *NEXT)),
    Script(name="txn-init-twice", config=TXN, program=(*INIT, Transact("init"), *NEXT)),
    Script(name="txn-begin-twice", config=TXN, program=(*INIT, BEGIN, BEGIN, Send("a"), COMMIT)),
    Script(name="txn-commit-without-begin", config=TXN, program=(*INIT, COMMIT, ABORT, SendOffsets({"i-0": 1}), *NEXT)),
    Script(name="txn-no-offsets", config=TXN, program=(*INIT, BEGIN, SendOffsets({}), COMMIT)),
    Script(name="txn-a-record-too-large", config=TXN, program=(*INIT, BEGIN, Send("a", size=2_000_000), COMMIT, ABORT)),
]

_RELEASES: Final = [
    Script(
        name=f"txn-on-{release}",
        config=TXN,
        release=release,
        program=(*INIT, BEGIN, Send("a"), Flush(), SendOffsets({"in-0": 5}), COMMIT, BEGIN, Send("b"), Flush(), ABORT),
    )
    for release in ("2.1", "2.4", "2.7", "3.7.2")
]

_CHANGES: Final = [
    Script(
        name="txn-v2-is-finalized-between-transactions",
        config=RECONNECTING,
        features=GENERATIONS["v1"],
        program=(
            *INIT,
            BEGIN,
            Send("a"),
            COMMIT,
            Finalize(VERSION, 2),
            Pause(300),
            Disconnect(),
            Pause(300),
            BEGIN,
            Send("b"),
            COMMIT,
            *NEXT,
        ),
    ),
    Script(
        name="txn-v2-is-finalized-within-one",
        config=RECONNECTING,
        features=GENERATIONS["v1"],
        program=(
            *INIT,
            BEGIN,
            Send("a"),
            Flush(),
            Finalize(VERSION, 2),
            Pause(300),
            Disconnect(),
            Pause(300),
            Send("b"),
            ABORT,
            *NEXT,
        ),
    ),
    Script(
        name="txn-v2-is-taken-back",
        config=RECONNECTING,
        features=GENERATIONS["v2"],
        program=(
            *INIT,
            *NEXT,
            Finalize(VERSION, 1),
            Pause(300),
            Disconnect(),
            Pause(300),
            BEGIN,
            Send("b"),
            COMMIT,
            *NEXT,
        ),
    ),
]

SCRIPTS: Final = [*_BOTH, *_ORDER, *_RELEASES, *_CHANGES]
