"""Transactions at each level of the feature transaction.version, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.update_features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, show_finalized, to
from tests.differential.group_requests import NO_DELAY, fetch_offsets, group_of
from tests.differential.requests import produce, read_back
from tests.differential.transaction_requests import Transactions, batched

if TYPE_CHECKING:
    from tests.differential.probe import Probe

FEATURE: Final = "transaction.version"
LEVELS: Final = (2, 1, 0, 2)
OWN_CLUSTER: Final = (*NO_DELAY, ("transaction.max.timeout.ms", "800000"))
"""The levels count for every case of a cluster."""


def set_level(probe: Probe, level: int) -> None:
    """Write down how the feature gets a level."""
    kind = 1 if level == LEVELS[0] else SAFE_DOWNGRADE
    response = probe.exchange(to((FEATURE, level), kind=kind, validate=False), 1, note=f"to {level}")
    if response.error_code:
        probe.exchange(to((FEATURE, level), kind=UNSAFE_DOWNGRADE, validate=False), 1, note=f"to {level}, unsafe")
    show_finalized(probe, f"{level}", (FEATURE, level))


@case(releases=("4.3.1",), settings=OWN_CLUSTER)
def requests_at_each_level(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    for place, level in enumerate(LEVELS):
        set_level(probe, level)
        transactions = Transactions(probe, f"t{place}")
        transactions.begin()
        transactions.write_log(f"initialized at {level}")
        for version in (11, 12):
            records = transactions.records(topic)
            probe.exchange(produce(topic, records, transactional_id=transactions.id), version, note=f"at {level}")
            transactions.describe()
        fields = {
            "transactional_id": transactions.id,
            "producer_id": transactions.producer_id,
            "producer_epoch": transactions.epoch,
        }
        for version in (4, 5):
            probe.exchange(txn_commit(group, topic, **fields), version, note=f"at {level}")
        entry = transactions.verify((topic, 1), verify_only=False)
        probe.exchange(batched(entry), 5, note=f"at {level}")
        transactions.write_log(f"open at {level}")
        ended = probe.exchange(transactions.end(commit=True), 5, note=f"at {level}")
        if ended.error_code == 0:
            transactions.take(ended)
        transactions.await_state("Empty", "CompleteCommit")
        transactions.describe()
        probe.exchange(transactions.end(commit=True), 5, note=f"nothing, at {level}")
        probe.exchange(transactions.end(commit=False), 5, note=f"nothing, at {level}")
        transactions.await_state("Empty", "CompleteCommit", "CompleteAbort")
        transactions.write_log(f"ended at {level}")
        probe.exchange(fetch_offsets(group, (topic, [0]), require_stable=True), 8)
        probe.exchange(describe((topic, (0, 1))), 0)
    read_back(probe, topic)


@case(releases=("4.3.1",), settings=OWN_CLUSTER)
def fences_at_each_level(probe: Probe) -> None:
    """The record of a fence has the version of transactions v2 alone; a repeated end is known by the epoch before."""
    topic = probe.topic()
    for place, level in enumerate(LEVELS):
        set_level(probe, level)
        transactions = Transactions(probe, f"t{place}")
        transactions.started((topic, 0))
        probe.exchange(transactions.init(), 4, note=f"fences at {level}")
        transactions.await_state("CompleteAbort")
        for commit in (True, False):
            probe.exchange(transactions.end(commit=commit), 5, note=f"of the fenced, at {level}")
            transactions.await_state("CompleteAbort")
        transactions.write_log(f"fenced at {level}")


@case(releases=("4.3.1",), settings=OWN_CLUSTER)
def partitions_that_a_broker_adds_at_level_0(probe: Probe) -> None:
    topic = probe.topic()
    transactions, other = Transactions(probe), Transactions(probe, "o")
    for each in (transactions, other):
        each.begin()
    set_level(probe, 0)
    probe.exchange(batched(other.verify((topic, 0))), 5, note="verified")
    probe.exchange(batched(other.verify((topic, 0)), transactions.verify((topic, 0), verify_only=False)), 4)
    probe.exchange(batched(transactions.verify((topic, 0), verify_only=False)), 5, note="again")
    transactions.describe()
    set_level(probe, 2)


@case(releases=("4.3.1",), settings=OWN_CLUSTER)
def levels_that_change_in_a_transaction(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for level in LEVELS[1:]:
        new, old = Transactions(probe, f"new{level}"), Transactions(probe, f"old{level}")
        new.begin()
        old.begin()
        probe.exchange(produce(topic, new.records(topic), transactional_id=new.id), 12)
        probe.exchange(old.add((topic, 1)), 3)
        request = produce(topic, old.records(topic, 1), partition=1, transactional_id=old.id)
        probe.exchange(request, 9)
        set_level(probe, level)
        probe.exchange(produce(topic, new.records(topic), transactional_id=new.id), 12, note="goes on")
        for transactions, version in ((new, 5), (old, 3)):
            ended = probe.exchange(transactions.end(commit=True), version, note=f"at {level}")
            if ended.error_code == 0:
                transactions.await_state("CompleteCommit")
            transactions.describe()
            transactions.write_log(f"at {level}")
    read_back(probe, topic)
