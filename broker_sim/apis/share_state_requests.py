"""The five APIs of a share coordinator: one operation per share partition of the request (KIP-932). Mirrors the methods
of ShareCoordinatorService.

A request without a group or topics has an empty response. Kafka collects the results in hash tables by topic id and
partition, whose order the response has. A partition that is repeated has the result of its last operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import gatherResults

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.operation_errors import refused
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from protocol_specs.java_hash import computed_order, hash_order_by, uuid_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.share.share_shard import ShareShard
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.message import Message

__all__ = ["ShareStateApi"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStateApi:
    """One of the five APIs: its classes and its operation."""

    response: Callable[..., Any]
    topic_result: Callable[..., Any]
    partition_result: Callable[..., Any]
    operation: Callable[[ShareShard, SharePartitionKey, Any], CoordinatorResult[Any]]
    operation_name: str
    failure: str
    """The beginning of the text when the operation cannot be run."""
    skips_empty_topics: bool = False
    """True if a topic without partitions is ignored; else the response of a request that has one is empty."""

    @property
    def handler(self) -> ApiHandler:
        """The handler of the API."""
        return ApiHandler(handle=self.handle, error_response=self.error_response)

    def handle(self, request: Any, context: RequestContext) -> HandlerResult:
        """Run the operations and return their results."""
        has_empty_topics = not all(topic.partitions for topic in request.topics)
        if not request.group_id or not request.topics or (has_empty_topics and not self.skips_empty_topics):
            return self.response()  # type: ignore[no-any-return]
        results: dict[bytes, dict[int, Deferred[Any]]] = {}
        for topic in (each for each in request.topics if each.partitions):
            of_topic = results.setdefault(topic.topic_id, {})
            for data in topic.partitions:
                of_topic[data.partition] = self._run(
                    SharePartitionKey(request.group_id, topic.topic_id, data.partition), data, context
                )
        order = computed_order([topic.topic_id for topic in request.topics for _ in topic.partitions], uuid_hash)
        topics = [(topic_id, hash_order_by(results[topic_id], int)) for topic_id in order]
        gathered = gatherResults([results[topic_id][index] for topic_id, indexes in topics for index in indexes])
        return gathered.addCallback(self._response, topics)

    def _run(self, key: SharePartitionKey, data: Any, context: RequestContext) -> Deferred[Any]:
        deferred = context.broker.coordinators.share.write(
            key, self.operation_name, lambda shard: self.operation(shard, key, data)
        )

        def failed(error_code: ErrorCode, message: str | None) -> Any:
            text = default_message(error_code) if message is None else message
            return self.partition_result(
                partition=key.partition, error_code=error_code, error_message=f"{self.failure}: {text}"
            )

        return deferred.addErrback(refused(failed))

    def _response(self, results: list[Any], topics: list[tuple[bytes, list[int]]]) -> Message:
        remaining = iter(results)
        return self.response(  # type: ignore[no-any-return]
            results=[
                self.topic_result(topic_id=topic_id, partitions=[next(remaining) for _ in indexes])
                for topic_id, indexes in topics
            ]
        )

    def error_response(
        self,
        request: Any,
        context: RequestContext,  # noqa: ARG002
        error_code: ErrorCode,
    ) -> Message:
        """Return one error for every partition. Mirrors toGlobalErrorResponse."""
        message = default_message(error_code)
        return self.response(  # type: ignore[no-any-return]
            results=[
                self.topic_result(
                    topic_id=topic.topic_id,
                    partitions=[
                        self.partition_result(partition=each.partition, error_code=error_code, error_message=message)
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
