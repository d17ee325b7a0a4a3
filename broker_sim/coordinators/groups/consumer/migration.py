"""The conversion of groups with members between classic and consumer. Mirrors convertToConsumerGroup,
convertToClassicGroup and their checks (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
from broker_sim.coordinators.groups.classic.group_metadata_records import group_record
from broker_sim.coordinators.groups.classic.responses import join_refusal, sync_refusal
from broker_sim.coordinators.groups.classic.subscribed_topics import CONSUMER_PROTOCOL
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.classic_formats import (
    assignment_of,
    assignment_to_bytes,
    subscription_of,
)
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.consumer.member_update import epoch_records
from broker_sim.coordinators.groups.consumer.partition_order import equal_epochs
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import MessageEndsInNumber, ProtocolError, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from broker_sim.coordinators.groups.classic.classic_groups import ClassicGroups
    from broker_sim.coordinators.groups.consumer.consumer_config import ConsumerConfig
    from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["Migration"]


class Migration:
    """Converts the groups of one shard."""

    def __init__(self, context: ShardContext, config: ConsumerConfig, classic: ClassicGroups) -> None:
        self._context = context
        self._config = config
        self._classic = classic

    # From classic to consumer.

    def upgrade(self, old: ClassicGroup, new: ConsumerGroup, records: list[CoordinatorRecord]) -> None:
        """Give a new consumer group the members of a classic one; parked requests must be repeated, also if that fails.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: the group cannot be converted. UNKNOWN_SERVER_ERROR: a subscription or
                an assignment is malformed in a way that Kafka does not expect, or the group has no protocol yet.
        """
        self._check_upgrade(old)
        for parked in list(old.members.values()):
            old.complete_join(parked, join_refusal(ErrorCode.REBALANCE_IN_PROGRESS, parked.member_id))
            old.complete_sync(parked, sync_refusal(ErrorCode.REBALANCE_IN_PROGRESS))
        try:
            members = self._upgraded_members(old)
        except (MessageEndsInNumber, UnsupportedVersion) as error:
            reason = "the embedded consumer protocol is malformed."
            raise _refused_upgrade(old.group_id, reason) from error
        except (ProtocolError, LookupError) as error:
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        records += old.tombstones()
        new.group_epoch.set(old.generation_id)
        new.assignment_epoch.set(old.generation_id)
        for member in members:
            new.target[member.member_id] = member.assigned
            new.put_member(member)
        fingerprint = self._config.fingerprint(new.all_topics(dict(new.subscribers.items()), {}))
        new.metadata.set(fingerprint)
        group_id, epoch = new.group_id, old.generation_id
        members = [new.members[member_id] for member_id in new.member_ids()]
        records += [consumer_records.member_record(group_id, member) for member in members]
        records += epoch_records(new, epoch, fingerprint, changed=True)
        records += [consumer_records.target_record(group_id, each.member_id, each.assigned) for each in members]
        records.append(consumer_records.assignment_epoch_record(group_id, epoch, 0))
        records += [consumer_records.current_assignment_record(group_id, member) for member in members]

    def _check_upgrade(self, group: ClassicGroup) -> None:
        if not self._config.upgrades:
            raise _refused_upgrade(group.group_id, "online upgrade is disabled.")
        if not group.uses_consumer_protocol:
            raise _refused_upgrade(group.group_id, "the group does not use the consumer embedded protocol.")
        if len(group.members) > self._config.max_size:
            raise _refused_upgrade(group.group_id, "the group size exceeds the consumer group maximum size.")

    def _upgraded_members(self, group: ClassicGroup) -> list[ConsumerMember]:
        topics = self._context.host.metadata_cache.image.topics
        found = []
        for member in group.members.values():
            subscription = subscription_of(member.metadata(group.protocol_name))
            assignment = assignment_of(member.assignment) if member.assignment else None
            if assignment is not None and assignment.user_data:
                reason = (
                    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
                    "default assignor before re-attempting the upgrade."
                )
                raise _refused_upgrade(group.group_id, reason)
            assigned = {
                topics[each.topic].topic_id: frozenset(each.partitions)
                for each in ([] if assignment is None else assignment.assigned_partitions)
                if each.topic in topics
            }
            keeps_epochs = self._config.behaviour.groups_time_their_assignments
            found.append(
                ConsumerMember(
                    member_id=member.member_id,
                    member_epoch=group.generation_id,
                    previous_member_epoch=group.generation_id,
                    instance_id=member.group_instance_id,
                    rack_id=subscription.rack_id or None,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    subscribed_topic_names=frozenset(subscription.topics),
                    assigned=assigned,
                    assignment_epochs=equal_epochs(assigned, group.generation_id) if keeps_epochs else {},
                    classic=ClassicProtocolData(member.session_timeout_ms, member.protocols),
                )
            )
        return found

    # From consumer to classic.

    def may_downgrade(self, group: ConsumerGroup, leaving: Sequence[ConsumerMember], *, replaced: bool) -> bool:
        """Return True if only classic members stay, and the configurations permit a classic group of them."""
        gone = {member.member_id for member in leaving}
        staying = [member for member in group.members.values() if member.member_id not in gone]
        size = len(staying) + replaced
        return (
            size > 0
            and all(member.uses_classic_protocol for member in staying)
            and self._config.downgrades
            and size <= self._config.classic_max_size
        )

    def downgrade(
        self,
        group: ConsumerGroup,
        leaving: Sequence[ConsumerMember],
        joining: ConsumerMember | None,
        records: list[CoordinatorRecord],
    ) -> ClassicGroup:
        """Replace a consumer group by a stable classic one, without the members that leave.

        A joining static member gets the target assignment of the one that it replaces.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: the classic members have no protocol in common.
        """
        gone = {member.member_id for member in leaving}
        ids = group.member_ids()
        if joining is not None:
            ids = [joining.member_id if member_id in gone else member_id for member_id in ids]
        records += group.tombstones_of(ids)
        staying = [group.members[member_id] for member_id in group.member_ids() if member_id not in gone]
        targets = {member.member_id: group.target_of(member.member_id) for member in staying}
        if joining is not None:
            staying.append(joining)
            targets[joining.member_id] = group.target_of(leaving[0].member_id)
        classic = self._classic.create_stable(group.group_id, group.group_epoch.get())
        for member in staying:
            assert member.classic is not None
            classic.add(
                ClassicMember(
                    member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    session_timeout_ms=member.classic.session_timeout_ms,
                    protocol_type=CONSUMER_PROTOCOL,
                    protocols=member.classic.protocols,
                )
            )
        classic.protocol_name = classic.select_protocol()
        classic.topics = classic.compute_topics()
        topics = self._context.host.metadata_cache.image.topics_by_id
        for each in classic.members.values():
            metadata = each.metadata(classic.protocol_name)
            classic.assign(each, assignment_to_bytes(targets[each.member_id], topics, metadata))
        assignments = {each.member_id: each.assignment for each in classic.members.values()}
        records.append(group_record(classic, assignments, self._config.behaviour.group_metadata_version))
        for each in classic.members.values():
            self._classic.rebalances.restart_session(classic, each)
        return classic


def _refused_upgrade(group_id: str, reason: str) -> CoordinatorError:
    return CoordinatorError(
        ErrorCode.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group_id} to consumer group because {reason}"
    )
