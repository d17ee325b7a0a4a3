"""The records of `__transaction_state`, and the markers that follow them, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.describe_configs import describe as describe_configs
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.config_requests import TOPIC
from tests.differential.group_records import write_batches
from tests.differential.requests import metadata, produce, read_back
from tests.differential.transaction_requests import STATE_TOPIC, Transactions, list_own

if TYPE_CHECKING:
    from tests.differential.probe import Probe

SOON = (
    ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "100"),
    ("transaction.remove.expired.transaction.cleanup.interval.ms", "100"),
)
EXPIRING = (*SOON, ("transactional.id.expiration.ms", "1500"))


@case()
def the_state_topic_is_described(probe: Probe) -> None:
    await_transactions(probe)
    for version in (1, 8, 12):
        probe.exchange(metadata(STATE_TOPIC), version, only=_without_placement)
    names = [
        "cleanup.policy",
        "segment.bytes",
        "compression.type",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "retention.ms",
    ]
    probe.exchange(describe_configs((TOPIC, STATE_TOPIC, names)), 4)


def _without_placement(response: Any) -> Any:
    return response["topics"][0] | {"partitions": len(response["topics"][0]["partitions"])}


@case()
def records_of_transactions(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u", partitions=2)
    transactions = Transactions(probe)
    transactions.begin(50_000)
    transactions.write_log("initialized")
    transactions.open((topic, 2), (topic, 0))
    probe.exchange(transactions.add((other, 1)), 3)
    transactions.write_log("open")
    transactions.ended(commit=True)
    transactions.write_log("committed")
    probe.exchange(transactions.init(40_000), 4)
    transactions.write_log("initialized again")
    write_batches(probe, STATE_TOPIC, transactions.id, spelled=False)
    read_back(probe, topic)


@case()
def records_of_a_fenced_producer(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    probe.exchange(transactions.init(), 4)
    transactions.await_state("CompleteAbort")
    transactions.write_log("aborted")
    probe.exchange(transactions.init(given=(transactions.producer_id, transactions.epoch)), 4, note="an old producer")
    probe.exchange(transactions.init(), 4)
    transactions.describe()
    transactions.write_log("initialized")
    read_back(probe, topic)


@case()
def producers_that_continue(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    transactions.ended(commit=False)
    given = transactions.producer_id, transactions.epoch
    for note in ("continues", "again: a repeated request", "once more"):
        probe.exchange(transactions.init(given=given), 4, note=note)
    newest = probe.exchange(transactions.init(given=(given[0], given[1] + 1)), 3, note="with the new epoch")
    probe.exchange(transactions.init(given=given), 3, note="fenced")
    probe.exchange(transactions.init(given=given), 4, note="fenced")
    transactions.take(newest)
    transactions.open((topic, 0))
    probe.exchange(transactions.init(given=(transactions.producer_id, transactions.epoch)), 4, note="aborts its own")
    transactions.await_state("CompleteAbort")
    probe.exchange(transactions.init(given=(transactions.producer_id, transactions.epoch)), 4, note="after the abort")
    transactions.describe()
    transactions.write_log()


@case(settings=SOON)
def transactions_that_time_out(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0), timeout_ms=2_000)
    transactions.await_state("CompleteAbort")
    transactions.describe()
    for version in (1, 3):
        probe.exchange(transactions.end(commit=True), version, note="too late")
        probe.exchange(transactions.add((topic, 0)), version, note="too late")
    records = transactions.records(topic)
    probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note="too late")
    transactions.write_log()
    read_back(probe, topic)
    given = transactions.producer_id, transactions.epoch
    probe.exchange(transactions.init(given=given), 4, note="with the epoch before")
    probe.exchange(transactions.init(), 4)
    transactions.describe()


@case(settings=EXPIRING)
def ids_that_expire(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    transactions.ended(commit=True)
    transactions.await_state("")
    transactions.describe("expired")
    list_own(probe, 0)
    probe.exchange(transactions.add((topic, 0)), 3)
    probe.exchange(transactions.end(commit=True), 3)
    probe.exchange(transactions.init(given=(transactions.producer_id, transactions.epoch)), 4, note="continues")
    transactions.write_log()


@case(releases=("4.3.1",), settings=SOON)
def transactions_v2_that_time_out(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin(300)
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 12)
    transactions.await_state("CompleteAbort")
    transactions.describe()
    probe.exchange(transactions.end(commit=True), 5, note="too late")
    for version in (9, 11, 12):
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), version, note="too late")
    transactions.take(probe.exchange(transactions.end(commit=False), 5, note="too late, an abort"))
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 12)
    transactions.describe()
    transactions.write_log()
    read_back(probe, topic)


@case(releases=("4.3.1",))
def records_of_transactions_v2(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.begin()
    for commit in (True, False):
        for partition in (0, 1):
            records = transactions.records(topic, partition)
            request = produce(topic, records, partition=partition, transactional_id=transactions.id)
            probe.exchange(request, 12)
        transactions.ended(commit=commit, version=5)
    transactions.write_log()
    records = transactions.records(topic)
    probe.exchange(produce(topic, records, transactional_id=transactions.id), 12)
    probe.exchange(transactions.init(), 4, note="aborts what is open")
    transactions.await_state("CompleteAbort")
    transactions.describe()
    probe.exchange(transactions.init(), 4)
    transactions.write_log("fenced")
    write_batches(probe, STATE_TOPIC, transactions.id, spelled=False)
    read_back(probe, topic)
