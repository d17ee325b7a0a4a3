"""Calls on groups and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.cluster_state import (
    GroupStatus,
    TransactionStatus,
    group_status,
    groups,
    transaction_status,
    transactions,
)
from broker_sim.errors import nearest
from broker_sim.http_control.operation import CLUSTER, Operation, UnknownName

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]


def listed_groups(call: Call) -> list[GroupStatus]:
    """Return all groups."""
    return groups(call.cluster)


def described_group(call: Call) -> GroupStatus:
    """Return one group."""
    name = call.path["group"]
    found = group_status(call.cluster, name)
    if found is None:
        known = [each.group_id for each in groups(call.cluster)]
        raise UnknownName(f"there is no group {name!r} with a coordinator{nearest(name, known)}")
    return found


def rebalanced(call: Call) -> Deferred[None]:
    """Begin a rebalance of a group."""
    return call.cluster.admin.force_rebalance(described_group(call).group_id)


def deleted_group(call: Call) -> Deferred[None]:
    """Delete a group."""
    return call.cluster.admin.delete_group(described_group(call).group_id)


def listed_transactions(call: Call) -> list[TransactionStatus]:
    """Return all transactional ids."""
    return transactions(call.cluster)


def described_transaction(call: Call) -> TransactionStatus:
    """Return one transactional id."""
    name = call.path["transactional_id"]
    found = transaction_status(call.cluster, name)
    if found is None:
        known = [each.transactional_id for each in transactions(call.cluster)]
        raise UnknownName(f"there is no transactional id {name!r} with a coordinator{nearest(name, known)}")
    return found


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{CLUSTER}/groups",
        name="listGroups",
        summary="The groups of all types: state, members, assignments, offsets and lag.",
        handle=listed_groups,
        result=list[GroupStatus],
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/groups/{{group}}",
        name="getGroup",
        summary="One group.",
        handle=described_group,
        result=GroupStatus,
    ),
    Operation(
        method="DELETE",
        path=f"{CLUSTER}/groups/{{group}}",
        name="deleteGroup",
        summary="Delete a group without members, and its offsets.",
        handle=deleted_group,
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{CLUSTER}/groups/{{group}}/rebalance",
        name="forceRebalance",
        summary="Begin a rebalance that no member has caused.",
        handle=rebalanced,
        status=204,
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/transactions",
        name="listTransactions",
        summary="The transactional ids: state, producer id and epoch, partitions of an open transaction.",
        handle=listed_transactions,
        result=list[TransactionStatus],
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/transactions/{{transactional_id}}",
        name="getTransaction",
        summary="One transactional id.",
        handle=described_transaction,
        result=TransactionStatus,
    ),
)
