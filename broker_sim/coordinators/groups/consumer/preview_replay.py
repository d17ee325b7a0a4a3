"""The replay of the records of 3.7's preview of consumer groups. Mirrors the replay methods of 3.7."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from broker_sim.coordinators.groups.consumer.consumer_replay import ConsumerReplay
from broker_sim.coordinators.groups.consumer.preview_assignment import preview_state
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, from_topics

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember

__all__ = ["PreviewReplay"]


class PreviewReplay(ConsumerReplay):
    """Applies records to the consumer groups of one shard."""

    _member_type: ClassVar = PreviewMember

    _no_assignment: ClassVar = {
        "target_epoch": LEAVE_EPOCH,
        "assigned": NO_PARTITIONS,
        "pending_revocation": NO_PARTITIONS,
        "pending_assignment": NO_PARTITIONS,
    }

    def _classic_of(self, value: Any) -> None:
        """Return None: the preview has no classic members in consumer groups."""

    def _assigned(self, member: ConsumerMember, value: Any) -> ConsumerMember:
        assert isinstance(member, PreviewMember)
        pending_revocation = from_topics(value.partitions_pending_revocation)
        pending_assignment = from_topics(value.partitions_pending_assignment)
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            target_epoch=value.target_member_epoch,
            state=preview_state(pending_revocation, pending_assignment),
            assigned=from_topics(value.assigned_partitions),
            pending_revocation=pending_revocation,
            pending_assignment=pending_assignment,
            listed={},
        )
