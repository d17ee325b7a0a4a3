"""StreamsGroupDescribe (api key 89): the epochs, topology, members and tasks of streams groups (KIP-1071).

Precedence: the protocol is not served (35), then per group: an empty id (24), the coordinator's state (14, 16), an
unknown group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleStreamsGroupDescribe and GroupCoordinatorService.streamsGroupDescribe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_descriptions import described_groups
from broker_sim.apis.group_requests import hide_groups_of_hidden_topics
from broker_sim.coordinators.groups.streams.streams_config import serves_streams_groups
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest


def handle(request: StreamsGroupDescribeRequest, context: RequestContext) -> StreamsGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    if not serves_streams_groups(context.broker.config, context.broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    groups = described_groups(request, context, lambda shard: shard.streams, DescribedGroup)
    return StreamsGroupDescribeResponse(groups=hide_groups_of_hidden_topics(groups, _topics_of, context, HIDDEN_TOPICS))


HIDDEN_TOPICS: Final = "The described group uses topics that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> Iterable[str]:
    subtopologies = None if group.topology is None else group.topology.subtopologies
    for each in subtopologies or ():
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (info.name for info in each.repartition_source_topics)
        yield from (info.name for info in each.state_changelog_topics)


def error_response(
    request: StreamsGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> StreamsGroupDescribeResponse:
    """Return the error for every group."""
    return StreamsGroupDescribeResponse(
        groups=[DescribedGroup(group_id=group_id, error_code=error_code) for group_id in request.group_ids]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
