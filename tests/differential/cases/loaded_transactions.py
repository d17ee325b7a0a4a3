"""Transactional ids whose states a client has put into the log, as the next coordinator makes of them.

So ids have epochs that would need 32,000 requests, and states that no producer reaches. Clusters of their own: the only
broker is shut down and starts again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.schemas.coordinator.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from protocol_specs.schemas.record_serde import encode_key, encode_value
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe as describe_producers
from tests.differential.cases.foreign_appends import append
from tests.differential.cases.init_producer_id import await_ids, await_transactions, init
from tests.differential.cases.transaction_log import SOON
from tests.differential.group_requests import NO_DELAY
from tests.differential.probe import attempts
from tests.differential.requests import TIME_MS, produce, read_back
from tests.differential.transaction_requests import (
    BUSY,
    LOADING,
    STATE_TOPIC,
    Transactions,
    batched,
    by_topic,
    describe,
    list_own,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.differential.probe import Probe

V2 = ("4.3.1",)
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, EPOCH_FENCE = range(8)
PREPARED: Final = 16
"""Partitions of their own keep the markers of several ids apart, which come in any order."""

SETTLED: Final = ("", "Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareEpochFence")
"""States that stay; an id that is unknown or about to be removed has none."""
LARGEST: Final = 32_767
LONG_MS: Final = 60_000

ONE_PARTITION: Final = (*NO_DELAY, ("transaction.state.log.num.partitions", "1"))


def _own(number: int) -> tuple[tuple[str, str], ...]:
    """A cluster of a case's own: its broker restarts."""
    return (*ONE_PARTITION, ("transaction.max.timeout.ms", f"{900_000 + number}"))


class Preset:
    """Ids whose states are put into the log."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.ids: dict[str, Transactions] = {}
        await_transactions(probe)

    def put(
        self,
        suffix: str,
        state: int,
        epoch: int,
        *partitions: tuple[str, int],
        start_ms: int = TIME_MS,
        timeout_ms: int = LONG_MS,
        version: int | None = None,
        **fields: Any,
    ) -> Transactions:
        """Append the record of an id that has a producer id of its own."""
        transactions = self.ids[suffix] = Transactions(self.probe, suffix)
        given: Any = self.probe.quiet(init(), 4)
        transactions.producer_id, transactions.epoch = given.producer_id, epoch
        self.probe.normaliser.know_producer(given.producer_id, suffix)
        topics = [
            PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in by_topic(partitions).items()
        ]
        value = TransactionLogValue(
            producer_id=given.producer_id,
            producer_epoch=epoch,
            transaction_timeout_ms=timeout_ms,
            transaction_status=state,
            transaction_partitions=None if state == EMPTY else topics,
            transaction_last_update_timestamp_ms=start_ms,
            transaction_start_timestamp_ms=-1 if state == EMPTY else start_ms,
            **fields,
        )
        newest = 1 if self.probe.release in V2 else 0
        key = encode_key(TransactionLogKey(transactional_id=transactions.id))
        data = encode_value(value, newest if version is None else version)
        append(self.probe, key, data, topic=STATE_TOPIC, note=suffix)
        return transactions

    def load(self) -> None:
        """Restart the broker, and wait until its coordinator serves the ids."""
        self.probe.nodes.shut_down(1)
        self.probe.nodes.restart(1)
        self.probe.connect(1)
        self.probe.use(1)
        await_ids(self.probe)
        for _ in attempts("a loaded coordinator"):
            response: Any = self.probe.quiet(describe(self.probe.name), 0)
            if response.transaction_states[0].error_code not in LOADING:
                return

    def describe(self, note: str = "") -> None:
        """Write down the state of each id."""
        self.probe.exchange(describe(*(each.id for each in self.ids.values())), 0, note=note)


def _initialize(transactions: Transactions, version: int, *, note: str = "", **fields: Any) -> None:
    """Write down the producer, and what is open until it is there."""
    probe = transactions.probe
    response = probe.exchange(transactions.init(**fields), version, note=note)
    if response.error_code == BUSY:
        transactions.await_state("CompleteAbort")
        transactions.describe("fenced")
        response = probe.exchange(transactions.init(**fields), version, note=f"{note}, again")
    if not response.error_code and response.producer_id >= 0:
        if response.producer_id != transactions.producer_id:
            probe.write(note="another producer id", is_new=response.producer_id > transactions.producer_id)
        transactions.take(response)


def _versions(probe: Probe) -> Iterable[int]:
    return (0, 3, 4) if probe.release == "3.7.2" else (0, 3, 5)


@case(settings=_own(1))
def producers_whose_epochs_end(probe: Probe) -> None:
    preset = Preset(probe)
    for version in _versions(probe):
        for epoch in range(LARGEST - 3, LARGEST + 1):
            preset.put(f"{version}-{epoch}", EMPTY, epoch)
    preset.load()
    preset.describe("loaded")
    for version in _versions(probe):
        for epoch in range(LARGEST - 3, LARGEST + 1):
            transactions = preset.ids[f"{version}-{epoch}"]
            for number in range(4):
                _initialize(transactions, version, note=f"from {epoch}, {number}")
            transactions.write_log()
    preset.describe("initialized")


@case(settings=_own(2))
def given_epochs_that_end(probe: Probe) -> None:
    preset = Preset(probe)
    steps = ((0, 0, 0), (0, 0, -1), (-1, 0), (1, 0))
    epochs = (LARGEST - 2, LARGEST - 1, LARGEST)
    states = (EMPTY, COMPLETE_COMMIT)
    names = [(epoch, state, place) for epoch in epochs for state in states for place in range(len(steps))]
    for epoch, state, place in names:
        preset.put(f"{epoch}-{state}-{place}", state, epoch)
    preset.load()
    for epoch, state, place in names:
        transactions = preset.ids[f"{epoch}-{state}-{place}"]
        first = transactions.producer_id
        for step in steps[place]:
            known = transactions.producer_id, min(transactions.epoch + step, LARGEST)
            _initialize(transactions, 4, given=known, note=f"{epoch} {state}, {step:+}")
        for given in ((first, epoch), (first, LARGEST - 1), (first, LARGEST), (first, 0)):
            _initialize(transactions, 4, given=given, note=f"{epoch} {state}, the first with {given[1]}")
    preset.describe()


@case(settings=_own(3))
def transactions_of_the_last_epochs(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    preset = Preset(probe)
    for epoch in range(LARGEST - 2, LARGEST + 1):
        preset.put(f"empty-{epoch}", EMPTY, epoch)
        preset.put(f"done-{epoch}", COMPLETE_ABORT, epoch)
    preset.load()
    for suffix, transactions in preset.ids.items():
        for commit in (True, False):
            probe.exchange(transactions.add((topic, 0)), 3, note=suffix)
            request = produce(topic, transactions.records(topic), transactional_id=transactions.id)
            probe.exchange(request, 9, note=suffix)
            ended = probe.exchange(transactions.end(commit=commit), 3, note=suffix)
            if not ended.error_code:
                transactions.await_state("CompleteCommit", "CompleteAbort")
        transactions.write_log(suffix)
    probe.exchange(describe_producers((topic, (0,))), 0)
    read_back(probe, topic)


@case(settings=_own(4))
def open_transactions_of_the_last_epochs(probe: Probe) -> None:
    """They are fenced with the next epoch; there is none behind the largest."""
    topic = probe.topic()
    preset = Preset(probe)
    for given in (False, True):
        for epoch in range(LARGEST - 2, LARGEST + 1):
            preset.put(f"{given}-{epoch}", ONGOING, epoch, (topic, 0), timeout_ms=800_000, start_ms=2 * TIME_MS)
    preset.load()
    preset.describe("loaded")
    for suffix, transactions in preset.ids.items():
        known = (transactions.producer_id, transactions.epoch) if suffix.startswith("True") else (-1, -1)
        response = probe.exchange(transactions.init(given=known), 4, note=suffix)
        if response.error_code == BUSY:
            transactions.await_state("CompleteAbort")
            transactions.describe("fenced")
            _initialize(transactions, 4, note=suffix)
            _initialize(transactions, 4, note=f"{suffix}, once more")
        transactions.describe(suffix)
        transactions.write_log(suffix)
    read_back(probe, topic)


@case(settings=(*SOON, *_own(5)))
def open_transactions_that_time_out_with_the_last_epochs(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    preset = Preset(probe)
    for partition, epoch in enumerate((LARGEST - 2, LARGEST - 1)):
        preset.put(f"{epoch}", ONGOING, epoch, (topic, partition), timeout_ms=500)
    preset.load()
    for suffix, transactions in preset.ids.items():
        transactions.await_state("CompleteAbort")
        transactions.describe(suffix)
        _initialize(transactions, 4, note=suffix)
        transactions.write_log(suffix)
    for partition in (0, 1):
        read_back(probe, topic, partition=partition)


@case(releases=V2, settings=_own(6))
def transactions_v2_of_the_last_epochs(probe: Probe) -> None:
    topic = probe.topic()
    preset = Preset(probe)
    epochs = range(LARGEST - 3, LARGEST + 1)
    for kind in ("commit", "abort", "empty"):
        for epoch in epochs:
            preset.put(f"{kind}-{epoch}", EMPTY, epoch, client_transaction_version=2)
    preset.load()
    for suffix, transactions in preset.ids.items():
        kind = suffix.split("-")[0]
        for number in range(3):
            note = f"{suffix}, {number}"
            if kind != "empty":
                request = produce(topic, transactions.records(topic), transactional_id=transactions.id)
                probe.exchange(request, 12, note=note)
            ended = probe.exchange(transactions.end(commit=kind == "commit"), 5, note=note)
            if ended.error_code:
                transactions.describe(note)
                break
            transactions.await_state("CompleteCommit", "CompleteAbort")
            for commit in (kind == "commit", kind != "commit"):
                probe.exchange(transactions.end(commit=commit), 5, note=f"{note}, repeated {commit}")
                transactions.await_state("CompleteCommit", "CompleteAbort")
            probe.exchange(transactions.end(commit=kind == "commit"), 3, note=f"{note}, repeated by v3")
            given = transactions.producer_id, transactions.epoch
            probe.exchange(batched(transactions.verify((topic, 0))), 5, note=f"{note}, verified")
            transactions.take(ended)
            if number == 1:
                probe.exchange(transactions.init(given=given), 4, note=f"{note}, the producer before")
                transactions.describe(note)
                old = {"producer_id": given[0], "producer_epoch": given[1]}
                probe.exchange(transactions.end(commit=False, **old), 5, note=f"{note}, the producer before")
                break
        transactions.describe(suffix)
        transactions.write_log(suffix)
    probe.exchange(describe_producers((topic, (0,))), 0)
    read_back(probe, topic)


@case(settings=_own(7))
def transactions_that_are_prepared(probe: Probe) -> None:
    topic = probe.topic(partitions=PREPARED)
    preset = Preset(probe)
    places = iter([(topic, partition) for partition in range(PREPARED)])
    for state in (PREPARE_COMMIT, PREPARE_ABORT):
        for epoch in (0, LARGEST):
            preset.put(f"{state}-{epoch}", state, epoch, next(places), next(places))
        preset.put(f"{state}-deleted", state, 3, next(places), ("deleted", 0), (topic, 77))
        preset.put(f"{state}-none", state, 3)
        if probe.release in V2:
            following: Any = probe.quiet(init(), 4)
            v2 = {"client_transaction_version": 2}
            rotated = v2 | {"next_producer_id": following.producer_id}
            preset.put(f"{state}-v2", state, LARGEST, next(places), **rotated)
            preset.put(f"{state}-v2-next", state, 5, next(places), **v2)
            preset.put(f"{state}-v0", state, 5, next(places), version=0)
    preset.load()
    for suffix, transactions in preset.ids.items():
        transactions.await_state("CompleteCommit", "CompleteAbort")
        transactions.describe(suffix)
    for suffix, transactions in preset.ids.items():
        for commit in (True, False):
            for version in (3,) if probe.release == "3.7.2" else (3, 5):
                probe.exchange(transactions.end(commit=commit), version, note=suffix)
                transactions.await_state("CompleteCommit", "CompleteAbort")
        _initialize(transactions, 4, note=suffix)
        transactions.write_log(suffix)
    for partition in range(PREPARED):
        read_back(probe, topic, partition=partition)


@case(settings=_own(8))
def states_that_no_record_has(probe: Probe) -> None:
    """States that are only ever pending, and records that contradict themselves."""
    topic = probe.topic()
    preset = Preset(probe)
    preset.put("dead", DEAD, 4)
    preset.put("fence", EPOCH_FENCE, 4, (topic, 0), start_ms=2 * TIME_MS)
    preset.put("none", ONGOING, 4, start_ms=2 * TIME_MS)
    preset.put("unborn", COMPLETE_COMMIT, -1)
    preset.put("fresh", EMPTY, -1)
    preset.put("open", COMPLETE_COMMIT, 4, (topic, 0))
    preset.put("untimed", EMPTY, 4, timeout_ms=-5)
    preset.load()
    preset.describe("loaded")
    list_own(probe, 0, "loaded")
    for suffix, transactions in preset.ids.items():
        probe.exchange(batched(transactions.verify((topic, 0))), 4, note=suffix)
        probe.exchange(transactions.end(commit=True), 3, note=suffix)
        transactions.await_state(*SETTLED)
        probe.exchange(transactions.add((topic, 0)), 3, note=suffix)
        transactions.describe(suffix)
        probe.exchange(transactions.end(commit=False), 3, note=suffix)
        transactions.await_state(*SETTLED)
        for _ in range(2):
            probe.exchange(transactions.init(), 4, note=suffix)
        transactions.describe(suffix)
        transactions.write_log(suffix)


@case(settings=_own(9))
def tombstones_and_unknown_records(probe: Probe) -> None:
    preset = Preset(probe)
    preset.put("gone", EMPTY, 4)
    preset.put("before", EMPTY, 4)
    key = encode_key(TransactionLogKey(transactional_id=f"{probe.name}-gone"))
    append(probe, key, None, topic=STATE_TOPIC, note="a tombstone")
    append(probe, b"\0\7later", b"\0\0value", topic=STATE_TOPIC, note="a key of another version")
    preset.put("after", EMPTY, 4)
    preset.load()
    preset.describe("loaded")
    for transactions in preset.ids.values():
        _initialize(transactions, 4)
        transactions.describe()


@case(settings=_own(10))
def a_value_of_a_later_version(probe: Probe) -> None:
    preset = Preset(probe)
    preset.put("before", EMPTY, 4)
    key = encode_key(TransactionLogKey(transactional_id=f"{probe.name}-later"))
    append(probe, key, b"\0\x09value", topic=STATE_TOPIC, note="a value of another version")
    preset.put("after", EMPTY, 4)
    preset.load()
    preset.describe("loaded")
    list_own(probe, 0, "loaded")
    for transactions in preset.ids.values():
        _initialize(transactions, 4)
        transactions.describe()
