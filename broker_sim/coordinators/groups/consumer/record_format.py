"""The format of a group's records: that of 3.7's preview, or that of later releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.coordinators.groups.consumer import consumer_records, preview_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["RecordFormat", "record_format"]


class RecordFormat(Protocol):
    """The functions of a module that make the records whose fields differ."""

    def member_record(self, group_id: str, member: ConsumerMember) -> CoordinatorRecord:
        """Return the record of a member's subscription."""

    def partition_metadata_record(self, group_id: str, topics: Mapping[str, TopicMetadata]) -> CoordinatorRecord:
        """Return the record of the subscribed topics."""

    def target_record(self, group_id: str, member_id: str, target: TopicPartitions) -> CoordinatorRecord:
        """Return the record of a member's target assignment."""

    def current_assignment_record(self, group_id: str, member: ConsumerMember) -> CoordinatorRecord:
        """Return the record of a member's epochs and partitions."""


def record_format(behaviour: ReleaseBehaviour) -> RecordFormat:
    """Return the format of a release."""
    return preview_records if behaviour.consumer_groups_are_first_previews else consumer_records
