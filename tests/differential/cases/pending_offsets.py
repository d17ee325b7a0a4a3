"""Offsets that wait for the end of a transaction while their group or topic is changed or deleted."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.offset_commit import OffsetCommitRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.cases.unverified_transactions import UNVERIFIED as NOT_VERIFIED
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
from tests.differential.modern_requests import NEW_COORDINATOR
from tests.differential.probe import attempts
from tests.differential.requests import metadata
from tests.differential.transaction_requests import Transactions, markers

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNVERIFIED: Final = (*NO_DELAY, *NEW_COORDINATOR, *NOT_VERIFIED)
"""With 3.7's preview of the new coordinator, of which groups do not know their open transactions."""


def _named(transactions: Transactions, **fields: Any) -> dict[str, Any]:
    return {
        "transactional_id": transactions.id,
        "producer_id": transactions.producer_id,
        "producer_epoch": transactions.epoch,
    } | fields


def _pend(transactions: Transactions, group: str, *topics: str, **fields: Any) -> None:
    """Write offsets in a transaction."""
    for _ in attempts(f"{group} in a new transaction"):
        added: Any = transactions.probe.quiet(transactions.add_offsets(group), 3)
        if added.error_code == 0:
            break
        assert added.error_code == 51, added
    for topic in topics:
        transactions.probe.exchange(txn_commit(group, topic, **_named(transactions, **fields)), 3, note="pending")


def _show(probe: Probe, group: str, note: str) -> None:
    for version in (7, 8):
        for stable in (False, True):
            request = fetch_offsets(group, everything=True, require_stable=stable)
            probe.exchange(request, version, note=f"{note}, {stable}")


@case(settings=NO_DELAY)
def groups_that_are_deleted(probe: Probe) -> None:
    topic = probe.topic()
    for number, (committed, ends_well) in enumerate(((False, True), (True, True), (True, False), (False, False))):
        group = group_of(probe, f"g{number}")
        transactions = Transactions(probe, f"t{number}")
        transactions.begin()
        if committed:
            probe.exchange(commit(group, (topic, {0: 9})), 8)
        _pend(transactions, group, topic)
        probe.exchange(DeleteGroupsRequest(groups_names=[group, group]), 2)
        _show(probe, group, "deleted")
        probe.exchange(describe_groups(group), 5)
        list_own_groups(probe, 4)
        probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2, note="again")
        _pend(transactions, group, topic)
        probe.exchange(commit(group, (topic, {0: 4})), 8, note="made again")
        _show(probe, group, "pending again")
        transactions.ended(commit=ends_well)
        _show(probe, group, f"ended {ends_well}")
        list_own_groups(probe, 4)
        write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def offsets_that_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    for number, (committed, ends_well) in enumerate(((False, True), (True, True), (True, False), (False, False))):
        group = group_of(probe, f"g{number}")
        transactions = Transactions(probe, f"t{number}")
        transactions.begin()
        if committed:
            probe.exchange(commit(group, (topic, {0: 9, 1: 9})), 8)
        _pend(transactions, group, topic, other)
        probe.exchange(offset_delete(group, (topic, [0, 1]), (other, [0, 7])), 0)
        _show(probe, group, "deleted")
        probe.exchange(offset_delete(group, (topic, [0])), 0, note="again")
        list_own_groups(probe, 4)
        transactions.ended(commit=ends_well)
        _show(probe, group, f"ended {ends_well}")
        list_own_groups(probe, 4)
        write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def topics_that_are_deleted(probe: Probe) -> None:
    for number, (committed, ends_well) in enumerate(((False, True), (True, True), (True, False))):
        topic, other = probe.topic(f"t{number}"), probe.topic(f"u{number}")
        group = group_of(probe, f"g{number}")
        transactions = Transactions(probe, f"t{number}")
        transactions.begin()
        if committed:
            probe.exchange(commit(group, (topic, {0: 9}), (other, {0: 9})), 8)
        _pend(transactions, group, topic, other)
        probe.exchange(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
        for _ in attempts(f"{topic} to be gone"):
            described: Any = probe.quiet(metadata(topic), 12)
            if described.topics[0].error_code:
                break
        for _ in attempts(f"the offsets of {topic} to be gone"):
            found: Any = probe.quiet(fetch_offsets(group, (topic, [0])), 7)
            if found.topics[0].partitions[0].committed_offset < 0:
                break
        probe.exchange(txn_commit(group, topic, **_named(transactions)), 3, note="gone")
        if committed:
            transactions.ended(commit=ends_well)
            _show(probe, group, f"ended {ends_well}")


@case(settings=NO_DELAY)
def two_transactions_and_one_partition(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    first, second = Transactions(probe, "a"), Transactions(probe, "b")
    first.begin()
    second.begin()
    for order in ((first, second), (second, first)):
        for wells in ((True, True), (True, False), (False, True), (False, False)):
            _pend(first, group, topic)
            request = txn_commit(group, topic, **_named(second))
            request.topics[0].partitions[0].committed_offset = 20
            for _ in attempts("the second"):
                added: Any = probe.quiet(second.add_offsets(group), 3)
                if added.error_code == 0:
                    break
            probe.exchange(request, 3)
            for each, well in zip(order, wells, strict=True):
                each.ended(commit=well)
                _show(probe, group, f"{each.id[-1]} ended {well}")
    write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def producers_that_are_replaced(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    _pend(transactions, group, topic)
    old = _named(transactions)
    probe.exchange(transactions.init(), 4)
    transactions.await_state("CompleteAbort")
    _show(probe, group, "fenced")
    for version in (2, 3) if probe.release == "3.7.2" else (2, 3, 4, 5):
        probe.exchange(txn_commit(group, topic, **old), version, note="of the old producer")
    transactions.begin()
    for version in (2, 3) if probe.release == "3.7.2" else (2, 3, 4, 5):
        probe.exchange(txn_commit(group, topic, **old), version, note="of the old producer")
    probe.exchange(txn_commit(group, topic, **_named(transactions)), 3, note="not added")
    _pend(transactions, group, topic)
    transactions.ended(commit=True)
    _show(probe, group, "ended")
    write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def members_and_their_offsets(probe: Probe) -> None:
    topic = probe.topic()
    member = stable_one(probe, group_of(probe), instance="i")
    transactions = Transactions(probe)
    transactions.begin()
    _pend(
        transactions, member.group, topic, member_id=member.id, generation_id=member.generation, group_instance_id="i"
    )
    for fields in (
        {"member_id": "", "generation_id": member.generation, "group_instance_id": "i"},
        {"member_id": member.id, "generation_id": member.generation, "group_instance_id": "j"},
        {"member_id": member.id, "generation_id": member.generation, "group_instance_id": ""},
        {"member_id": "x", "generation_id": member.generation, "group_instance_id": "i"},
        {"member_id": "x", "generation_id": -1, "group_instance_id": "i"},
        {"member_id": member.id, "generation_id": -1, "group_instance_id": "i"},
        {"member_id": member.id, "generation_id": -2},
    ):
        request = txn_commit(member.group, topic, **_named(transactions, **fields))
        probe.exchange(request, 3, note=str([name != member.id and name for name in fields.values()]))
    probe.exchange(DeleteGroupsRequest(groups_names=[member.group]), 2, note="with a member")
    member.leave()
    _show(probe, member.group, "left")
    list_own_groups(probe, 4)
    probe.exchange(markers((transactions.producer_id, transactions.epoch, True, {OFFSETS_TOPIC: [99]}, 0)), 1)
    transactions.ended(commit=True)
    _show(probe, member.group, "ended")


@case(settings=(*NO_DELAY, ("message.max.bytes", "6000")))
def writes_that_fail(probe: Probe) -> None:
    """Each partition may have so much metadata; a batch with that of two is too large."""
    topic = probe.topic(partitions=3)
    allowed, too_long = "m" * 4_096, "m" * 4_097
    for ends_well in (True, False):
        group = group_of(probe, f"g{ends_well}")
        transactions = Transactions(probe, f"t{ends_well}")
        transactions.begin()
        _pend(transactions, group, topic)
        both, mixed = (allowed, allowed), (too_long, allowed, allowed)
        for texts in (("", ""), mixed, (too_long, too_long), both):
            _write(probe, txn_commit(group, topic, **_named(transactions)), *texts)
            _show(probe, group, "pending")
        for texts in (mixed, both, (too_long, allowed), (too_long, too_long)):
            _write(probe, commit(group, (topic, {0: 5})), *texts)
        probe.exchange(offset_delete(group, (topic, [0, 1])), 0)
        probe.exchange(describe_groups(group), 5)
        list_own_groups(probe, 4)
        transactions.ended(commit=ends_well)
        _show(probe, group, f"ended {ends_well}")


def _write(probe: Probe, request: Any, *texts: str) -> None:
    """Commit an offset of one partition for as many as there are metadata."""
    [topic] = request.topics
    topic.partitions = [copy(topic.partitions[0]) for _ in texts]
    for index, text in enumerate(texts):
        topic.partitions[index].partition_index, topic.partitions[index].committed_metadata = index, text
    probe.exchange(request, 8 if isinstance(request, OffsetCommitRequest) else 3, note=str([*map(len, texts)]))


@case(settings=UNVERIFIED)
def producers_that_no_coordinator_gave_out(probe: Probe) -> None:
    """-1 alone is no producer; a batch of any other one is transactional, and fails without an epoch."""
    topic = probe.topic()
    await_transactions(probe)
    for producer_id in (-1, -2, 2**63 - 1):
        for epoch in (-1, 0, -2):
            group = group_of(probe, f"g{producer_id}{epoch}")
            named = {"producer_id": producer_id, "producer_epoch": epoch}
            probe.exchange(txn_commit(group, topic, **named), 3, note=f"{producer_id} {epoch}")
            _show(probe, group, "pending")
            probe.exchange(describe_groups(group), 5)
            write_batches(probe, OFFSETS_TOPIC, group)
            probe.exchange(commit(group, (topic, {0: 9})), 8)
            _show(probe, group, "committed")
            probe.exchange(describe_groups(group), 5)
            probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
            _show(probe, group, "deleted")
            list_own_groups(probe, 4)
            write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=UNVERIFIED)
def ends_of_transactions_with_pending_offsets(probe: Probe) -> None:
    topic = probe.topic()
    for number, (change, ends_well) in enumerate(
        (("before", True), ("after", True), ("after", False), ("deleted", True), ("gone", True))
    ):
        group = group_of(probe, f"g{number}")
        transactions = Transactions(probe, f"t{number}")
        transactions.begin()
        if change == "before":
            probe.exchange(commit(group, (topic, {0: 9})), 8)
        _pend(transactions, group, topic)
        if change in ("after", "deleted"):
            probe.exchange(commit(group, (topic, {0: 9})), 8)
        if change == "deleted":
            probe.exchange(offset_delete(group, (topic, [0])), 0)
        if change == "gone":
            probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
        _show(probe, group, change)
        list_own_groups(probe, 4)
        transactions.ended(commit=ends_well)
        _show(probe, group, f"ended {ends_well}")
        list_own_groups(probe, 4)
        probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
        write_batches(probe, OFFSETS_TOPIC, group)
