"""The checks of a heartbeat that need no group. Mirrors throwIfStreamsGroupHeartbeatRequestIsInvalid and the checks of
KafkaApis.handleStreamsGroupHeartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.config.values import TRIMMED
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.modern.epoch_member import STATIC_LEAVE_EPOCH
from broker_sim.metadata.topic_names import (
    GROUP_METADATA_TOPIC_NAME,
    SHARE_GROUP_STATE_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
    refused_name,
)
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology

__all__ = ["check_heartbeat", "check_topic_names", "topics_of"]

_INTERNAL: Final = {GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME, SHARE_GROUP_STATE_TOPIC_NAME}
_NO_TIMEOUT: Final = -1


def check_topic_names(topology: Topology | None) -> None:
    """Raise if a topology names topics that it may not.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY.
    """
    names = dict.fromkeys(topics_of(topology))
    internal = [name for name in names if name in _INTERNAL]
    if internal:
        raise CoordinatorError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited.",
        )
    illegal = [name for name in names if refused_name(name) is not None]
    if illegal:
        raise CoordinatorError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY, f"Topic names {','.join(illegal)} are not valid topic names."
        )


def topics_of(topology: Topology | None) -> Iterable[str]:
    """Yield the topics that a topology names, with repetitions."""
    for each in [] if topology is None else topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (info.name for info in each.repartition_source_topics)
        yield from (info.name for info in each.state_changelog_topics)


def check_heartbeat(request: StreamsGroupHeartbeatRequest) -> None:
    """Raise if the fields of a heartbeat do not go together.

    Raises:
        CoordinatorError: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY.
    """
    _check_supported(request)
    _refuse_if(not request.member_id.strip(TRIMMED), "MemberId can't be empty.")
    _refuse_if(not request.group_id.strip(TRIMMED), "GroupId can't be empty.")
    _refuse_if(request.instance_id is not None and not request.instance_id.strip(TRIMMED), "InstanceId can't be empty.")
    _refuse_if(request.rack_id is not None and not request.rack_id.strip(TRIMMED), "RackId can't be empty.")
    if request.member_epoch == 0:
        _check_join(request)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        _refuse_if(request.instance_id is None, "InstanceId can't be null.")
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        _refuse_if(True, f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    tasks = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    _refuse_if(
        any(each is None for each in tasks) and any(each is not None for each in tasks),
        "If one task-type is non-null, all must be non-null.",
    )
    _refuse_if(
        request.member_epoch != 0 and request.topology is not None,
        "Topology can only be provided when (re-)joining.",
    )


def _check_supported(request: StreamsGroupHeartbeatRequest) -> None:
    _refuse_if(request.instance_id is not None, "Static membership is not yet supported.")
    _refuse_if(request.task_offsets is not None, "TaskOffsets are not supported yet.")
    _refuse_if(request.task_end_offsets is not None, "TaskEndOffsets are not supported yet.")
    _refuse_if(bool(request.warmup_tasks), "WarmupTasks are not supported yet.")
    for each in [] if request.topology is None else request.topology.subtopologies:
        _refuse_if(bool(each.source_topic_regex), "Regular expressions for source topics are not supported yet.")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    _refuse_if(request.rebalance_timeout_ms == _NO_TIMEOUT, "RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        _refuse_if(tasks is None or bool(tasks), f"{name} must be empty when (re-)joining.")
    _refuse_if(request.topology is None, "Topology must be non-null when (re-)joining.")
    assert request.topology is not None
    for each in request.topology.subtopologies:
        for info in each.state_changelog_topics:
            if info.partitions:
                raise CoordinatorError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {info.name} must have an undefined partition count, but it is set to "
                    f"{info.partitions}.",
                )


def _refuse_if(condition: bool, message: str) -> None:  # noqa: FBT001
    if condition:
        raise CoordinatorError(ErrorCode.INVALID_REQUEST, message)
