"""TxnOffsetCommit without a transaction, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.group_requests import NO_DELAY, fetch_offsets, group_of, list_own_groups, stable_one
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def requests_that_are_wrong(probe: Probe) -> None:
    await_transactions(probe)
    topic = probe.topic()
    group = group_of(probe)
    for version in all_versions(TxnOffsetCommitRequest):
        for name, where, fields in (
            ("", topic, {}),
            (group, "unknown", {}),
            (group, "", {}),
            (group, topic, {"member_id": "stranger", "generation_id": 1}),
            (group, topic, {"generation_id": 5}),
            (group, topic, {"group_instance_id": "i"}),
        ):
            if version >= 3 or not fields:
                request = txn_commit(name, where, **fields)
                probe.exchange(request, version, note=f"{name[-1:]} {where[-7:]} {list(fields)}")
        probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def members_that_are_wrong(probe: Probe) -> None:
    await_transactions(probe)
    topic = probe.topic()
    member = stable_one(probe, group_of(probe))
    for version in (3, 4, 5):
        for member_id, generation, instance in (
            ("stranger", 1, None),
            (member.id, 99, None),
            (member.id, member.generation, "i"),
        ):
            request = txn_commit(
                member.group, topic, member_id=member_id, generation_id=generation, group_instance_id=instance
            )
            probe.exchange(request, version, note=f"{generation} {instance}")


@case(settings=NO_DELAY)
def requests_of_odd_values(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    await_transactions(probe)
    member = stable_one(probe, group)
    for version in range(4):
        for name in (group, "", f"{group}-none"):
            for fields in ({}, {"producer_id": -1}, {"producer_epoch": -1}, {"transactional_id": ""}, {"topics": []}):
                probe.exchange(
                    txn_commit(name, topic, **fields)
                    if "topics" not in fields
                    else TxnOffsetCommitRequest(transactional_id="t", group_id=name, producer_id=4_000),
                    version,
                    note=f"{name[-4:]} {list(fields)}",
                )
    for fields in (
        {"member_id": member.id, "generation_id": 1},
        {"member_id": member.id},
        {"generation_id": 1},
        {"group_instance_id": "i"},
    ):
        probe.exchange(txn_commit(group, topic, **fields), 3, note=str(list(fields)))
    probe.exchange(txn_commit(group, "unknown"), 3, note="unknown topic")
    list_own_groups(probe, 4)
