"""The sticky assignor for cooperative rebalances (KIP-429). Mirrors CooperativeStickyAssignor.

A partition that changes its owner is left out of the assignment until the earlier owner has given it up.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_client.core.groups.assignors.assignor import DEFAULT_GENERATION, PartitionRacks, RebalanceProtocol
from broker_client.core.groups.assignors.sticky_assignor import AbstractStickyAssignor, MemberData

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.consumer_groups import ConsumerGroupMetadata
    from broker_client.core.groups.consumer_protocol import Assignment, Subscription
    from broker_client.records import TopicPartition

__all__ = ["CooperativeStickyAssignor"]

_INT32: Final = struct.Struct(">i")


class CooperativeStickyAssignor(AbstractStickyAssignor):
    """Owned partitions and generation come from the subscription; older members send the generation as user data."""

    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self) -> None:
        self._generation = DEFAULT_GENERATION

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Remember the generation."""
        del assignment
        self._generation = metadata.generation_id

    def subscription_user_data(self, topics: Sequence[str]) -> bytes | None:
        """Return the generation, for leaders that do not read it from the subscription."""
        del topics
        return _INT32.pack(self._generation)

    def member_data(self, subscription: Subscription) -> MemberData:
        """Read owned partitions, and the generation of the subscription or of the user data."""
        if subscription.generation_id is not None:
            return MemberData(subscription.owned, subscription.generation_id)
        if subscription.user_data is None:
            return MemberData(subscription.owned)
        try:
            (generation,) = _INT32.unpack_from(subscription.user_data)
        except struct.error:
            generation = DEFAULT_GENERATION
        return MemberData(subscription.owned, generation)

    def assign_partitions(
        self, partitions: Mapping[str, Sequence[PartitionRacks]], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign, without the partitions that change their owner."""
        assigned, transfers = self.assign_with_transfers(partitions, subscriptions)
        if transfers is None:
            transfers = _transfers(subscriptions, assigned)
        for key, member in transfers.items():
            if key in assigned[member]:
                assigned[member].remove(key)
        return assigned


def _transfers(
    subscriptions: Mapping[str, Subscription], assigned: Mapping[str, Sequence[TopicPartition]]
) -> dict[TopicPartition, str]:
    """The partitions that one member gives up and another one gets, with their new owner."""
    added: dict[TopicPartition, str] = {}
    revoked: dict[TopicPartition, None] = {}
    for member, partitions in assigned.items():
        owned = dict.fromkeys(subscriptions[member].owned)
        kept = dict.fromkeys(partitions)
        added.update((key, member) for key in partitions if key not in owned)
        revoked.update(dict.fromkeys(key for key in owned if key not in kept))
    return {key: member for key, member in added.items() if key in revoked}
