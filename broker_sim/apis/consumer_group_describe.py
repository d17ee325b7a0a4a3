"""ConsumerGroupDescribe (api key 69): the epochs, members and assignments of consumer groups (KIP-848).

Versions: v1 has the protocol of each member (KIP-1099).

Precedence: the protocol is not served (35), then per group: an empty id (24), the coordinator's state (14, 16), an
unknown group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleConsumerGroupDescribe and GroupCoordinatorService.consumerGroupDescribe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_descriptions import described_groups
from broker_sim.apis.group_requests import hide_groups_of_hidden_topics
from broker_sim.coordinators.groups.consumer.availability import serves_consumer_groups
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest


def handle(request: ConsumerGroupDescribeRequest, context: RequestContext) -> ConsumerGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    if not serves_consumer_groups(context.broker.config, context.broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    groups = described_groups(request, context, lambda shard: shard.consumer, DescribedGroup)
    return ConsumerGroupDescribeResponse(groups=hide_groups_of_hidden_topics(groups, _topics_of, context))


def _topics_of(group: DescribedGroup) -> Iterable[str]:
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            yield from (each.topic_name for each in assignment.topic_partitions)


def error_response(
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> ConsumerGroupDescribeResponse:
    """Return the error for every group."""
    return ConsumerGroupDescribeResponse(
        groups=[DescribedGroup(group_id=group_id, error_code=error_code) for group_id in request.group_ids]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
