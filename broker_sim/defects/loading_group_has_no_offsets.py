"""A coordinator that still loads a group responds that the group has committed no offsets.

A new coordinator reads `__consumer_offsets` before it knows the offsets of its groups. A consumer that starts
meanwhile fetches its offsets, and gets "no offset" without an error. It applies `auto.offset.reset`: it reads
everything again, or skips what was written since its last commit. A coordinator that responds with
COORDINATOR_LOAD_IN_PROGRESS (14) makes the consumer repeat the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.kafka_apis import KafkaApis
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.coordinators.runtime.shard_runner import ShardRunner
from broker_sim.defects.defect import Defect
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.offset_fetch import OffsetFetchRequest

__all__ = ["DEFECT"]

NO_OFFSET: Final = -1
LOAD_S: Final = 1.0


class LoadsSlowly(ShardRunner[Any]):
    """Takes a second to read the log, so that consumers meet a group that is loaded."""

    def _start_loading(self) -> None:
        super()._start_loading()
        if self._log is Log.CONSUMER_OFFSETS:
            assert self._load_call is not None, "loading has been scheduled"
            self._load_call.delay(LOAD_S)


class LoadingGroupsAreEmpty(KafkaApis):
    """Replaces the error of a group that is loaded, in the versions of OffsetFetch with several groups."""

    def serve(self, context: RequestContext) -> HandlerResult:
        """Call the handler of a request."""
        result: Any = super().serve(context)
        if context.api_key is not ApiKey.OFFSET_FETCH:
            return result  # type: ignore[no-any-return]
        if isinstance(result, Deferred):
            result.addCallback(_without_error, context.request)
            return result
        return _without_error(result, context.request)  # type: ignore[no-any-return]


def _without_error(response: Any, request: OffsetFetchRequest) -> Any:
    if isinstance(response, OffsetFetchResponse):
        wanted = {group.group_id: group.topics or [] for group in request.groups}
        for group in response.groups:
            if group.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                _empty(group, wanted[group.group_id])
    return response


def _empty(group: OffsetFetchResponseGroup, topics: list[Any]) -> None:
    group.error_code = ErrorCode.NONE
    group.topics = [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=index, committed_offset=NO_OFFSET, committed_leader_epoch=-1, metadata=""
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in topics
    ]


DEFECT: Final = Defect(
    name="loading-group-has-no-offsets",
    lesson=__doc__,
    source="KAFKA-5600; KAFKA-4682",
    affected="Apache Kafka before 0.11.0.1, as a race",
    anomalies=("offsets-lost-or-stale",),
    substitutes=(LoadsSlowly, LoadingGroupsAreEmpty),
    since="3.0",
)
