"""Offsets of groups that are committed by transactions, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.group_records import write_batches
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    list_own_groups,
    stable_one,
)
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _named(transactions: Transactions) -> dict[str, object]:
    return {
        "transactional_id": transactions.id,
        "producer_id": transactions.producer_id,
        "producer_epoch": transactions.epoch,
    }


def _show(probe: Probe, group: str, topic: str, note: str) -> None:
    for stable in (False, True):
        probe.exchange(fetch_offsets(group, (topic, [0]), require_stable=stable), 7, note=f"{note}, {stable}")


@case(settings=NO_DELAY)
def offsets_that_are_committed_or_aborted(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for ends_well in (True, False, True):
        for version in (0, 3):
            probe.exchange(transactions.add_offsets(group), version)
        for version in (0, 2, 3):
            probe.exchange(txn_commit(group, topic, **_named(transactions)), version)
        _show(probe, group, topic, "pending")
        list_own_groups(probe, 4)
        probe.exchange(transactions.end(commit=ends_well), 3)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        _show(probe, group, topic, f"ended {ends_well}")
    transactions.describe()


@case(settings=NO_DELAY)
def offsets_without_their_partition(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(5 if probe.release == "4.3.1" else 4):
        probe.exchange(txn_commit(group, topic, **_named(transactions)), version)
    transactions.started((topic, 0))
    for version in range(5 if probe.release == "4.3.1" else 4):
        probe.exchange(txn_commit(group, topic, **_named(transactions)), version, note="another partition is in it")
    _show(probe, group, topic, "none")


@case(settings=NO_DELAY)
def offsets_beside_plain_commits(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for earlier in (True, False):
        if earlier:
            probe.exchange(commit(group, (topic, {0: 7})), 8)
        probe.exchange(transactions.add_offsets(group), 3)
        probe.exchange(txn_commit(group, topic, **_named(transactions)), 3)
        if not earlier:
            probe.exchange(commit(group, (topic, {0: 9})), 8)
        _show(probe, group, topic, "pending")
        transactions.ended(commit=True)
        _show(probe, group, topic, "ended")
    probe.exchange(transactions.add_offsets(group), 3)
    probe.exchange(txn_commit(group, topic, **_named(transactions)), 3)
    probe.exchange(offset_delete(group, (topic, [0])), 0, note="pending")
    _show(probe, group, topic, "deleted")
    transactions.ended(commit=True)
    _show(probe, group, topic, "deleted and ended")


@case(settings=NO_DELAY)
def offsets_of_members(probe: Probe) -> None:
    topic = probe.topic()
    member = stable_one(probe, group_of(probe))
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(member.group), 3)
    for fields in (
        {"member_id": member.id, "generation_id": member.generation},
        {"member_id": member.id, "generation_id": member.generation + 1},
        {"member_id": "stranger", "generation_id": member.generation},
        {"member_id": member.id, "generation_id": -1},
        {"group_instance_id": "i"},
        {},
    ):
        probe.exchange(
            txn_commit(member.group, topic, **(_named(transactions) | fields)), 3, note=str(list(fields.values())[1:])
        )
    probe.exchange(describe_groups(member.group), 5)
    transactions.ended(commit=True)
    _show(probe, member.group, topic, "ended")


@case(settings=NO_DELAY, releases=("4.3.1",))
def offsets_of_transactions_v2(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for ends_well in (True, False):
        probe.exchange(txn_commit(group, topic, **_named(transactions)), 5, note="adds the partition")
        transactions.describe()
        _show(probe, group, topic, "pending")
        transactions.take(probe.exchange(transactions.end(commit=ends_well), 5))
        transactions.await_state("CompleteCommit", "CompleteAbort")
        _show(probe, group, topic, f"ended {ends_well}")
    late = _named(transactions) | {"producer_epoch": transactions.epoch - 1}
    probe.exchange(txn_commit(group, topic, **late), 5, note="fenced")
    probe.exchange(txn_commit(group, topic, **late), 4, note="fenced")


@case(settings=NO_DELAY)
def batches_of_transactional_offsets(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for ends_well in (True, False):
        probe.exchange(transactions.add_offsets(group), 3)
        probe.exchange(txn_commit(group, topic, **_named(transactions)), 3)
        for epoch in (-1, -2, -(2**15)):
            wrong = _named(transactions) | {"producer_epoch": epoch}
            probe.exchange(txn_commit(group, topic, **wrong), 3, note=f"epoch {epoch}")
        transactions.ended(commit=ends_well)
    write_batches(probe, OFFSETS_TOPIC, group)
