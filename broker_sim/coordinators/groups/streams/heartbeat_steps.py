"""The steps of one heartbeat of a streams group, in Kafka's order. Mirrors streamsGroupHeartbeat of
GroupMetadataManager.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.modern.subscription_metadata import metadata_hash
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.configured_topology import StatusCode
from broker_sim.coordinators.groups.streams.reconciliation import reconciled
from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology, topology_value
from broker_sim.coordinators.groups.streams.target_assignment import compute_target_assignment
from broker_sim.coordinators.groups.streams.tasks import Tasks, task_sets
from broker_sim.coordinators.groups.streams.topic_configuration import configure_topics
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_heartbeat import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredTopology
    from broker_sim.coordinators.groups.streams.streams_config import StreamsConfig
    from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds

__all__ = ["HeartbeatSteps", "updated_member"]

_REFRESH_MS: Final = 2**31 - 1
"""The hash of the topics is computed again when a topic changes, not after a time."""


class HeartbeatSteps:
    """One heartbeat: collects records and statuses, step by step."""

    def __init__(
        self,
        context: ShardContext,
        config: StreamsConfig,
        group: StreamsGroup,
        request: StreamsGroupHeartbeatRequest,
        records: list[CoordinatorRecord],
    ) -> None:
        self._context = context
        self._config = config
        self._group = group
        self._request = request
        self.records = records
        self.statuses: list[Status] = []
        self.group_epoch = group.group_epoch.get()
        self._bumps = False

    def add_status(self, code: StatusCode, detail: str) -> None:
        """Add a condition to the response."""
        self.statuses.append(Status(status_code=code, status_detail=detail))

    def record_member(self, old: StreamsMember, new: StreamsMember) -> None:
        """Write the member if it has changed, which makes a new epoch."""
        if new != old:
            self.records.append(streams_records.member_record(self._group.group_id, new))
            self._bumps = True

    def topology(self) -> StreamsTopology:
        """Return the group's topology, which the first member sets.

        Raises:
            CoordinatorError: INVALID_REQUEST: a newer or another topology.
        """
        sent, present = self._request.topology, self._group.topology.get()
        if sent is None:
            if present is None:
                raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
            return present
        value = topology_value(sent)
        received = StreamsTopology.of(value)
        if present is None:
            self.records.append(streams_records.topology_record(self._group.group_id, value))
            return received
        if present.epoch <= received.epoch and received != present:
            raise CoordinatorError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
        return present

    def report_stale_topology(self, member: StreamsMember) -> None:
        """Add a status if the member has an older topology than the group."""
        topology = self._group.topology.get()
        if topology is not None and member.topology_epoch < topology.epoch:
            self.add_status(
                StatusCode.STALE_TOPOLOGY,
                f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
                f"{topology.epoch}.",
            )

    def bump_epoch(self, topology: StreamsTopology) -> ConfiguredTopology:
        """Write a new group epoch if the member, the topics or the configurations have changed.

        Return the topology with its topics.

        Raises:
            CoordinatorError: INVALID_REQUEST: the member lists tasks that do not exist; STREAMS_INVALID_TOPOLOGY.
        """
        group, now_ms = self._group, self._context.now_ms()
        configured, topics_hash = self._configure(topology)
        validated_epoch = -1
        if configured.is_ready:
            validated_epoch = topology.epoch
            for listed in (self._request.active_tasks, self._request.standby_tasks, self._request.warmup_tasks):
                _check_tasks(configured, listed)
        self._bumps |= validated_epoch != group.validated_topology_epoch.get()
        configs = self._config.assignment_configs(group.group_id)
        self._bumps |= configs != dict(group.assignment_configs.get())
        if self._bumps:
            self.group_epoch += 1
            self.records.append(
                streams_records.group_record(
                    group.group_id,
                    self.group_epoch,
                    metadata_hash=topics_hash,
                    validated_topology_epoch=validated_epoch,
                    assignment_configs=configs,
                )
            )
            group.refresh_metadata_at(now_ms + _REFRESH_MS, self.group_epoch)
        return configured

    def _configure(self, topology: StreamsTopology) -> tuple[ConfiguredTopology, int]:
        """Return the topology with its topics, and the hash of these; both are computed again after a change."""
        group, now_ms = self._group, self._context.now_ms()
        configured, topics_hash = group.configured_topology.get(), group.metadata_hash.get()
        is_new = group.topology.get() is None
        if not (is_new or configured is None or group.has_metadata_expired(now_ms)):
            return configured, topics_hash
        image = self._context.host.metadata_cache.image
        topics_hash = metadata_hash(image, topology.required_topics)
        changed = topics_hash != group.metadata_hash.get()
        self._bumps |= changed
        if is_new or changed or configured is None:
            configured = configure_topics(topology, image)
            group.configure(configured)
        return configured, topics_hash

    def assign(self, topology: ConfiguredTopology, updated: StreamsMember, *, is_delayed: bool) -> tuple[int, Tasks]:
        """Return the epoch and the member's part of the target assignment, computed for a new epoch if it is time."""
        group, now_ms = self._group, self._context.now_ms()
        assignment_epoch = group.assignment_epoch.get()
        if is_delayed:
            self.add_status(
                StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."
            )
            return assignment_epoch, Tasks()
        if assignment_epoch >= self.group_epoch:
            return assignment_epoch, group.target_of(updated.member_id)
        if group.awaits_assignment_interval(now_ms, self._config.assignment_interval_ms(group.group_id)):
            self.add_status(
                StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
            )
            return assignment_epoch, group.target_of(updated.member_id)
        records, target = compute_target_assignment(
            group,
            self.group_epoch,
            topology=topology,
            configs=self._config.assignment_configs(group.group_id),
            updated=updated,
            now_ms=now_ms,
        )
        self.records += records
        return self.group_epoch, target[updated.member_id]

    def reconcile(self, member: StreamsMember, target_epoch: int, target: Tasks) -> StreamsMember:
        """Return the member after its step towards the target assignment, and write it if it has changed.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: the member lists a subtopology twice.
        """
        if member.is_reconciled_to(target_epoch):
            return member
        request = self._request
        owned = None
        lists = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
        if None not in lists:
            found = [task_sets(each) for each in lists]
            if any(len(sets) < len(listed or ()) for sets, listed in zip(found, lists, strict=True)):
                raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
            owned = Tasks(*found)
        updated = reconciled(member, target_epoch=target_epoch, target=target, owners=self._group.owners, owned=owned)
        if updated != member:
            self.records.append(streams_records.current_assignment_record(self._group.group_id, updated))
        return updated


def updated_member(member: StreamsMember, request: StreamsGroupHeartbeatRequest, client: ClientInfo) -> StreamsMember:
    """Return the member with the fields of a heartbeat; null leaves a field as it is.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR: two client tags have the same key.
    """
    tags: Mapping[str, str] = member.client_tags
    if request.client_tags is not None:
        tags = {each.key: each.value for each in request.client_tags}
        if len(tags) < len(request.client_tags):
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
    endpoint, timeout_ms = request.user_endpoint, request.rebalance_timeout_ms
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
        client_id=client.client_id,
        client_host=client.client_host,
        process_id=member.process_id if request.process_id is None else request.process_id,
        client_tags=tags,
        user_endpoint=member.user_endpoint if endpoint is None else (endpoint.host, endpoint.port),
    )


def _check_tasks(configured: ConfiguredTopology, listed: Sequence[TaskIds] | None) -> None:
    """Raise INVALID_REQUEST if a task does not exist. Mirrors throwIfRequestContainsInvalidTasks."""
    subtopologies = configured.subtopologies or {}
    for each in listed or ():
        subtopology = subtopologies.get(each.subtopology_id)
        if subtopology is None:
            raise CoordinatorError(
                ErrorCode.INVALID_REQUEST, f"Subtopology {each.subtopology_id} does not exist in the topology."
            )
        for partition in each.partitions:
            if not 0 <= partition < subtopology.tasks:
                raise CoordinatorError(
                    ErrorCode.INVALID_REQUEST,
                    f"Task {partition} for subtopology {each.subtopology_id} is invalid. Number of tasks for this "
                    f"subtopology: {subtopology.tasks}",
                )
