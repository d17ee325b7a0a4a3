"""Any API but Produce under fault rules: asked about once before it is applied, a Fetch once for each partition.

A wait occupies the handler. Only called while `faults.active`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.request_context import NO_RESPONSE, NoAnswer
from broker_sim.faults.interception import Outcome, Phase
from broker_sim.network.fault_stage import CLOSED_BY_RULE, fault_point
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.kafka_apis import ApiHandler
    from broker_sim.apis.request_context import RequestContext, Response

__all__ = ["handle"]

TOPIC_IDS_LOWEST: Final = 13


async def handle(handler: ApiHandler, request: Any, context: RequestContext) -> Response | NoAnswer:
    """Ask the rules, wait as they say, and call the handler unless they forbid it."""
    drop = False
    context.hold_handler()
    try:
        for topic, partition in _partitions(request, context):
            point = fault_point(context, topic, partition)
            interception = context.broker.faults.intercept(Phase.BEFORE_APPEND, point)
            if interception is None:
                continue
            if interception.wait is not None:
                await interception.wait
            outcome = interception.outcome
            if outcome in {Outcome.DISCONNECT, Outcome.CUT}:
                return context.disconnect(CLOSED_BY_RULE)
            if outcome is Outcome.DROP_RESPONSE:
                drop = True
            elif outcome is Outcome.ERROR and (topic is None or partition is None):
                return handler.error_response(request, context, interception.error_code)
            elif outcome is Outcome.ERROR and topic is not None and partition is not None:
                if context.injected_errors is None:
                    context.injected_errors = {}
                context.injected_errors[topic, partition] = interception.error_code
        result = handler.handle(request, context)
    finally:
        context.release_handler()
    answer = await result if isinstance(result, Deferred) else result
    return NO_RESPONSE if drop and not isinstance(answer, NoAnswer) else answer


def _partitions(request: Any, context: RequestContext) -> list[tuple[str | None, int | None]]:
    if context.api_key != ApiKey.FETCH or not request.topics:
        return [(None, None)]
    if context.api_version < TOPIC_IDS_LOWEST:
        return [(topic.topic, item.partition) for topic in request.topics for item in topic.partitions]
    by_id = context.broker.metadata_cache.image.topics_by_id
    return [
        (by_id[topic.topic_id].name, item.partition)
        for topic in request.topics
        if topic.topic_id in by_id
        for item in topic.partitions
    ] or [(None, None)]
