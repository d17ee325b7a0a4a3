"""Transactions whose requests are refused, lost or sent to the wrong broker, in both generations of the protocol."""

from __future__ import annotations

from typing import Final

from protocol_specs.error_codes import ErrorCode
from tests.client.producer_script import (
    Await,
    Flush,
    MoveCoordinator,
    MoveLeader,
    Pause,
    Response,
    Script,
    Send,
    SendOffsets,
    Step,
    Transact,
)
from tests.client.scripts.transactions import ABORT, BEGIN, COMMIT, GENERATIONS, INIT, NEXT, RECONNECTING, TXN, joined

OFFSETS: Final = SendOffsets({"in-0": 5, "in-1": 7})
# In any state after an error, each call and the next transaction succeed or fail as in Java.
WAY_OUT: Final[tuple[Step, ...]] = (ABORT, *NEXT)
# Java completes the records of a failed batch, and with them a flush, before it changes the state of the transaction.
NOTED: Final = Pause(100)


def _slug(error: ErrorCode) -> str:
    return error.name.lower().replace("_", "-")


def _refused(api: str, error: ErrorCode, generation: str, program: tuple[Step, ...], **options: object) -> Script:
    return Script(
        name=f"txn-{generation}-{api.lower()}-{_slug(error)}",
        config={**TXN, "max.block.ms": 2000},
        features=GENERATIONS[generation],
        program=program,
        responses=(Response(api=api, error=error, **options),),  # type: ignore[arg-type]  # its own fields
    )


def _throttled(api: str, generation: str) -> Script:
    return Script(
        name=f"txn-{generation}-{api.lower()}-throttled",
        config=TXN,
        # Java rebootstraps while its only broker throttles it, and requests the metadata that a
        # record waits for twice if the record is sent in between.
        brokers=2 if api == "InitProducerId" else 1,
        features=GENERATIONS[generation],
        program=(*INIT, BEGIN, Send("a"), Flush(), OFFSETS, COMMIT, *NEXT),
        responses=(Response(api=api, throttle_ms=300),),
    )


_INITIALIZING: Final = [
    _refused(api, error, "v2", (*INIT, *NEXT))
    for api, errors in (
        ("FindCoordinator", (ErrorCode.COORDINATOR_NOT_AVAILABLE,)),
        (
            "InitProducerId",
            (
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.CONCURRENT_TRANSACTIONS,
            ),
        ),
    )
    for error in errors
] + [
    _refused(api, error, "v2", (*INIT, Pause(200), Transact("init"), BEGIN, COMMIT, ABORT))
    for api, errors in (
        (
            "FindCoordinator",
            (
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                ErrorCode.TRANSACTION_ABORTABLE,
                ErrorCode.INVALID_REQUEST,
            ),
        ),
        (
            "InitProducerId",
            (
                ErrorCode.INVALID_PRODUCER_EPOCH,
                ErrorCode.PRODUCER_FENCED,
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                ErrorCode.TRANSACTION_ABORTABLE,
            ),
        ),
    )
    for error in errors
]

_ADDING_PARTITIONS: Final = [
    _refused("AddPartitionsToTxn", error, "v1", (*INIT, BEGIN, Send("a"), joined("v1"), Pause(200), COMMIT, *WAY_OUT))
    for error in (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )
] + [
    Script(
        name="txn-v1-one-partition-of-two-may-not-join",
        config=TXN,
        features=GENERATIONS["v1"],
        topics={"t": (1, 1)},
        program=(
            *INIT,
            BEGIN,
            Send("a"),
            Flush(),
            Send("b", partition=1),
            joined("v1", 2),
            Pause(200),
            Send("c"),
            COMMIT,
            *WAY_OUT,
        ),
        responses=(
            Response(api="AddPartitionsToTxn", nth=2, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, partitions=("t-1",)),
        ),
    ),
    Script(
        name="txn-v1-the-second-transaction-waits-for-the-first",
        config=TXN,
        features=GENERATIONS["v1"],
        program=(*INIT, *NEXT, *NEXT),
        responses=(Response(api="AddPartitionsToTxn", nth=2, times=3, error=ErrorCode.CONCURRENT_TRANSACTIONS),),
    ),
]

_OFFSETS: Final = [
    _refused(api, error, generation, (*INIT, BEGIN, Send("a"), Flush(), OFFSETS, COMMIT, *WAY_OUT))
    for api, generation, errors in (
        (
            "AddOffsetsToTxn",
            "v1",
            (
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.PRODUCER_FENCED,
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                ErrorCode.INVALID_TXN_STATE,
                ErrorCode.GROUP_AUTHORIZATION_FAILED,
                ErrorCode.TRANSACTION_ABORTABLE,
                ErrorCode.UNKNOWN_SERVER_ERROR,
            ),
        ),
        (
            "TxnOffsetCommit",
            "v1",
            (
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                ErrorCode.REQUEST_TIMED_OUT,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.ILLEGAL_GENERATION,
                ErrorCode.FENCED_INSTANCE_ID,
                ErrorCode.INVALID_PRODUCER_EPOCH,
                ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            ),
        ),
        (
            "TxnOffsetCommit",
            "v2",
            (
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.GROUP_AUTHORIZATION_FAILED,
                ErrorCode.PRODUCER_FENCED,
                ErrorCode.TRANSACTION_ABORTABLE,
                ErrorCode.UNKNOWN_SERVER_ERROR,
            ),
        ),
    )
    for error in errors
] + [
    Script(
        name=f"txn-{generation}-one-offset-of-two-is-committed-late",
        config=TXN,
        features=GENERATIONS[generation],
        program=(*INIT, BEGIN, OFFSETS, COMMIT, *NEXT),
        responses=(
            Response(api="TxnOffsetCommit", error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, partitions=("in-1",)),
        ),
    )
    for generation in GENERATIONS
]

_ENDING: Final = [
    _refused("EndTxn", error, generation, (*INIT, BEGIN, Send("a"), COMMIT, *WAY_OUT))
    for generation in GENERATIONS
    for error in (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )
] + [
    Script(
        name=f"txn-{generation}-abort-{_slug(error)}",
        config=TXN,
        features=GENERATIONS[generation],
        program=(*INIT, BEGIN, Send("a"), Flush(), ABORT, *NEXT),
        responses=(Response(api="EndTxn", error=error),),
    )
    for generation in GENERATIONS
    for error in (
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    )
]

_BATCHES: Final = [
    _refused("Produce", error, generation, (*INIT, BEGIN, Send("a"), Flush(), Send("b"), COMMIT, *WAY_OUT), nth=2)
    for generation in GENERATIONS
    for error in (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
] + [
    script
    for generation, features in GENERATIONS.items()
    for script in (
        Script(
            name=f"txn-{generation}-a-failed-one-of-three",
            config={**TXN, "batch.size": 400},
            features=features,
            program=(
                *INIT,
                BEGIN,
                Send("first", size=300),
                Flush(),
                Send("v", count=3, size=300),
                Flush(),
                NOTED,
                COMMIT,
                *WAY_OUT,
            ),
            responses=(Response(nth=3, error=ErrorCode.INVALID_TIMESTAMP, after=("Produce", 4)),),
        ),
        Script(
            name=f"txn-{generation}-an-old-epoch-while-it-aborts",
            config={**TXN, "linger.ms": 0},
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), Await("Produce", 2), *WAY_OUT),
            responses=(Response(nth=2, error=ErrorCode.INVALID_PRODUCER_EPOCH, delay_ms=400),),
        ),
        Script(
            name=f"txn-{generation}-a-batch-is-retried-while-it-commits",
            config=TXN,
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), COMMIT, *NEXT),
            responses=(Response(nth=2, times=2, error=ErrorCode.NOT_ENOUGH_REPLICAS),),
        ),
        Script(
            name=f"txn-{generation}-the-leader-moves",
            # Metadata is due at once, and received long before a batch may be retried.
            config={**TXN, "retry.backoff.ms": 400},
            features=features,
            brokers=2,
            program=(*INIT, BEGIN, Send("a"), Flush(), Pause(700), MoveLeader("t-0", 2), Send("b"), COMMIT, *NEXT),
        ),
        Script(
            name=f"txn-{generation}-a-batch-is-written-and-its-response-lost",
            config={**RECONNECTING, "request.timeout.ms": 800},
            features=features,
            program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), COMMIT, *NEXT),
            responses=(Response(nth=2, appends=True, lost=True),),
        ),
    )
]

_LOST: Final = [
    Script(
        name=f"txn-{generation}-{api.lower()}-{how}",
        config={**RECONNECTING, "request.timeout.ms": 800},
        features=GENERATIONS[generation],
        program=(*INIT, BEGIN, Send("a"), Flush(), OFFSETS, COMMIT, *NEXT),
        responses=(scripted,),
    )
    for generation, apis in {
        "v1": ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"),
        "v2": ("FindCoordinator", "TxnOffsetCommit", "EndTxn"),
    }.items()
    for api in apis
    for how, scripted in {
        "lost": Response(api=api, lost=True),
        "obeyed-and-lost": Response(api=api, lost=True, appends=True),
        # Late: metadata is due by then, and requested before a connection may be retried.
        "disconnected": Response(api=api, disconnects=True, appends=True, delay_ms=500),
    }.items()
    if how == "disconnected" or (how == "obeyed-and-lost") == (api in {"InitProducerId", "EndTxn"})
]

_MOVED: Final = [
    Script(
        name=f"txn-{generation}-the-coordinator-moves-{when}",
        config=TXN,
        features=GENERATIONS[generation],
        brokers=2,
        program=(*INIT, *program),
    )
    for generation in GENERATIONS
    for when, program in {
        "between": (*NEXT, MoveCoordinator(2), *NEXT),
        "before-the-commit": (BEGIN, Send("a"), Flush(), MoveCoordinator(2), COMMIT, *NEXT),
        "of-the-group": (BEGIN, OFFSETS, MoveCoordinator(2, "group"), OFFSETS, COMMIT, *NEXT),
    }.items()
]

_EPOCHS: Final = [
    Script(
        name="txn-v2-the-epochs-are-used-up",
        config=TXN,
        features=GENERATIONS["v2"],
        program=(*INIT, *NEXT, *NEXT),
        responses=(
            Response(api="InitProducerId", producer=(1000, 32766), appends=True),
            Response(api="EndTxn", producer=(1001, 0), appends=True),
        ),
    ),
    Script(
        name="txn-v1-the-epochs-are-used-up",
        config=TXN,
        features=GENERATIONS["v1"],
        program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), Flush(), NOTED, ABORT, *NEXT),
        responses=(
            Response(nth=2, error=ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=0),
            Response(api="InitProducerId", nth=2, producer=(1001, 0), appends=True),
        ),
    ),
    Script(
        name="txn-v1-an-epoch-before-brokers-bump-it",
        config=TXN,
        release="2.4",
        program=(*INIT, BEGIN, Send("a"), Flush(), Send("b"), Flush(), NOTED, COMMIT, *WAY_OUT),
        responses=(Response(nth=2, error=ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=0),),
    ),
]

_TIMED_OUT: Final = [
    Script(
        name=f"txn-{generation}-{call}-takes-longer-than-max-block-ms",
        config={**TXN, "max.block.ms": 500},
        features=GENERATIONS[generation],
        program=program,
        responses=(Response(api=api, delay_ms=1500, appends=True),),
    )
    for generation, call, api, program in (
        ("v2", "init", "InitProducerId", (*INIT, BEGIN, Transact("init"), Pause(900), Transact("init"), *NEXT)),
        ("v1", "commit", "EndTxn", (*INIT, BEGIN, Send("a"), COMMIT, ABORT, BEGIN, Pause(1400), COMMIT, *NEXT)),
        ("v2", "commit", "EndTxn", (*INIT, BEGIN, Send("a"), COMMIT, ABORT, BEGIN, Pause(1400), COMMIT, *NEXT)),
        ("v2", "abort", "EndTxn", (*INIT, BEGIN, Send("a"), Flush(), ABORT, COMMIT, Pause(1400), ABORT, *NEXT)),
        ("v1", "offsets", "AddOffsetsToTxn", (*INIT, BEGIN, OFFSETS, Pause(1400), COMMIT, *NEXT)),
    )
]

# Java waits half a minute after the split of a batch within a transaction, so that is not among them.
_SIZES: Final = [
    Script(
        name=f"txn-{generation}-a-record-is-larger-than-the-broker-takes",
        config=TXN,
        features=features,
        max_batch_bytes=600,
        program=(*INIT, BEGIN, Send("a"), Flush(), Send("b", size=800), COMMIT, *WAY_OUT),
    )
    for generation, features in GENERATIONS.items()
]

_THROTTLED: Final = [
    _throttled(api, generation)
    for generation, apis in {
        "v1": ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn"),
        "v2": ("TxnOffsetCommit", "EndTxn"),
    }.items()
    for api in apis
]

SCRIPTS: Final = [
    *_INITIALIZING,
    *_ADDING_PARTITIONS,
    *_OFFSETS,
    *_ENDING,
    *_BATCHES,
    *_LOST,
    *_MOVED,
    *_EPOCHS,
    *_TIMED_OUT,
    *_SIZES,
    *_THROTTLED,
]
