"""A rebalance that no member has caused, as a fault: no request of Kafka begins one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.member_update import epoch_records
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.group_shard import GroupShard

__all__ = ["force_rebalance"]

REASON: Final = "a fault rule forces it"


def force_rebalance(shard: GroupShard, group_id: str) -> CoordinatorResult[Any]:
    """Begin a rebalance of a classic group, or give a consumer group its next epoch.

    The members of a classic group learn of it by REBALANCE_IN_PROGRESS and join again. A heartbeat of a consumer group
    then computes its assignment anew (KIP-848), which changes no partition unless something else has changed.

    Raises:
        CoordinatorError: There is no such group, it has no members, it rebalances already, or it is of another type.
    """
    group = shard.groups.existing(group_id)
    if isinstance(group, ConsumerGroup) and group.members:
        topics = group.all_topics(group.subscribers_with([], None), group.regex_subscribers_with([], None))
        fingerprint = shard.consumer.config.fingerprint(topics)
        return CoordinatorResult(epoch_records(group, group.group_epoch.get() + 1, fingerprint, changed=True), None)
    if isinstance(group, ClassicGroup) and group.members and group.can_rebalance:
        return shard.classic.rebalances.prepare(group, REASON)
    raise CoordinatorError(ErrorCode.INVALID_REQUEST, f"group {group_id} cannot rebalance now: {_reason(group)}")


def _reason(group: object) -> str:
    if not isinstance(group, ClassicGroup | ConsumerGroup):
        return "it is neither a classic nor a consumer group"
    if isinstance(group, ClassicGroup) and group.members:
        return f"its state is {group.state.value}"
    return "it has no members"
