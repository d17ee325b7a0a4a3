"""The checks of a heartbeat that need no state. Mirrors throwIfConsumerGroupHeartbeatRequestIsInvalid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.config.values import TRIMMED
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

__all__ = ["check_heartbeat"]

_OWN_MEMBER_IDS_SINCE: Final = 1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest,
    api_version: int,
    assignors: Iterable[str],
    *,
    is_preview: bool,
    blanks_are_empty: bool = True,
) -> None:
    """Raise unless the fields of a request fit together.

    `is_preview` is the order of the checks before 4.0, which know no expressions and no member ids of clients.

    With `blanks_are_empty` an id that String.trim leaves nothing of is empty, as since 3.8.

    Raises:
        CoordinatorError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """

    def check_not_empty(value: str | None, message: str) -> None:
        _refuse_if(value is not None and not (value.strip(TRIMMED) if blanks_are_empty else value), message)

    names_itself = api_version >= _OWN_MEMBER_IDS_SINCE
    if not is_preview and (names_itself or request.member_epoch > 0 or request.member_epoch == LEAVE_EPOCH):
        check_not_empty(request.member_id, "MemberId can't be empty.")
    check_not_empty(request.group_id, "GroupId can't be empty.")
    check_not_empty(request.instance_id, "InstanceId can't be empty.")
    check_not_empty(request.rack_id, "RackId can't be empty.")
    if is_preview:
        _refuse_if(request.subscribed_topic_regex is not None, "SubscribedTopicRegex is not supported yet.")
        if request.member_epoch > 0 or request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            check_not_empty(request.member_id, "MemberId can't be empty.")
    if request.member_epoch == 0:
        _check_join(request, is_preview=is_preview)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        _refuse_if(request.instance_id is None, "InstanceId can't be null.")
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        raise CoordinatorError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")
    supported = list(assignors)
    if request.server_assignor is not None and request.server_assignor not in supported:
        listed = ", ".join(hash_order(supported))
        raise CoordinatorError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {listed}.",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest, *, is_preview: bool) -> None:
    _refuse_if(request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request.")
    owned = request.topic_partitions
    _refuse_if(owned is None or len(owned) > 0, "TopicPartitions must be empty when (re-)joining.")
    if is_preview:
        _refuse_if(not request.subscribed_topic_names, "SubscribedTopicNames must be set in first request.")
        return
    _refuse_if(
        request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _refuse_if(refused: bool, message: str) -> None:  # noqa: FBT001 - the only argument that varies
    if refused:
        raise CoordinatorError(ErrorCode.INVALID_REQUEST, message)
