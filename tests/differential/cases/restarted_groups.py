"""Groups that a coordinator loads after a restart, as raw probes see them. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    commit,
    describe_groups,
    group_of,
    list_own_groups,
    stable_one,
)
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=(*NO_DELAY, ("metadata.max.idle.interval.ms", "511")))
def groups_without_offsets_after_a_restart(probe: Probe) -> None:
    """Up to 3.9 a coordinator makes simple groups of the offsets that are left; the new one makes them as it reads."""
    topic = probe.topic()
    names = ("kept", "deleted", "known", "left", "aborted")
    groups = {name: group_of(probe, name) for name in names}
    Member(probe, groups["known"]).learn_id()
    member = stable_one(probe, groups["left"])
    member.commit((topic, {0: 1}))
    member.leave()
    for name in names[:3]:
        probe.quiet(commit(groups[name], (topic, {0: 1})), 8)
    transactions = Transactions(probe)
    transactions.begin()
    probe.quiet(transactions.add_offsets(groups["aborted"]), 3)
    named: dict[str, Any] = {"producer_id": transactions.producer_id, "producer_epoch": transactions.epoch}
    probe.exchange(txn_commit(groups["aborted"], topic, transactional_id=transactions.id, **named), 3)
    transactions.ended(commit=False)
    for name in names[1:4]:
        probe.exchange(offset_delete(groups[name], (topic, [0])), 0, note=name)
    for note in ("before", "after"):
        probe.exchange(describe_groups(*groups.values()), 5, note=note)
        list_own_groups(probe, 4, note=note)
        if note == "before":
            probe.nodes.shut_down(1)
            probe.nodes.restart(1)
            probe.connect(1)
            probe.use(1)
            for name in names:
                group_of(probe, name)
    for version in (0, 2):
        probe.exchange(DeleteGroupsRequest(groups_names=list(groups.values())), version)
