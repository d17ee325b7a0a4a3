"""ShareGroupDescribe (api key 77): the epochs, members and assignments of share groups (KIP-932).

Precedence: share groups are off (35), then per group: an empty id (24), the coordinator's state (14, 16), an unknown
group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleShareGroupDescribe and GroupCoordinatorService.shareGroupDescribe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_descriptions import described_groups
from broker_sim.apis.group_requests import hide_groups_of_hidden_topics
from broker_sim.share_partitions.share_partition_manager import shares
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_group_describe import DescribedGroup, ShareGroupDescribeResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest


def handle(request: ShareGroupDescribeRequest, context: RequestContext) -> ShareGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    if not shares(context.broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    groups = described_groups(
        request, context, lambda shard: shard.share, DescribedGroup, explains_coordinator_errors=True
    )
    return ShareGroupDescribeResponse(groups=hide_groups_of_hidden_topics(groups, _topics_of, context))


def _topics_of(group: DescribedGroup) -> Iterable[str]:
    for member in group.members:
        yield from (each.topic_name for each in member.assignment.topic_partitions)


def error_response(
    request: ShareGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> ShareGroupDescribeResponse:
    """Return the error for every group."""
    return ShareGroupDescribeResponse(
        groups=[DescribedGroup(group_id=group_id, error_code=error_code) for group_id in request.group_ids]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
