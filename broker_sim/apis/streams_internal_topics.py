"""The creation of the internal topics of a streams group. Mirrors createStreamsInternalTopics of
AutoTopicCreationManager, and the end of KafkaApis.handleStreamsGroupHeartbeat.

The response does not wait: its status names the topics that are missing, and the errors of earlier attempts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.streams.configured_topology import StatusCode
from broker_sim.coordinators.groups.streams.streams_config import StreamsConfig
from broker_sim.links.node_links import LinkFailure
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.streams.configured_topology import InternalTopic
    from broker_sim.coordinators.groups.streams.heartbeat_result import HeartbeatResult

_log = Logger()
_ERRORS_SHOWN_MAX: Final = 3
_DEFAULT_FACTOR: Final = -1
"""Let the controller choose the replication factor."""


def create_internal_topics(result: HeartbeatResult, group_id: str, context: RequestContext) -> None:
    """Request the missing topics from the controller, and add earlier errors to the response's status."""
    if not result.missing_topics:
        return
    broker = context.broker
    denied = _denied(result.missing_topics, context)
    if denied:
        _add_detail(result, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
        return
    creations = broker.coordinators.groups.internal_topics
    now_ms = broker.now_ms()
    errors = creations.errors(result.missing_topics, now_ms)
    names = creations.begin(result.missing_topics, now_ms)
    if names:
        expires_ms = now_ms + 2 * StreamsConfig(broker).heartbeat_interval_ms(group_id)
        _request_topics({name: result.missing_topics[name] for name in names}, context, expires_ms)
    if errors:
        _add_detail(result, f"Creation failed: {_shown(errors)}.")


def _denied(names: Iterable[str], context: RequestContext) -> list[str]:
    """Return the topics that the client may not create."""
    if context.may(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return []
    return [name for name in names if not context.may(AclOperation.CREATE, ResourceType.TOPIC, name)]


def _add_detail(result: HeartbeatResult, detail: str) -> None:
    for status in result.response.status or ():
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {detail}"
            break


def _shown(errors: Mapping[str, str]) -> str:
    texts = [f"{name} ({message})" for name, message in errors.items()]
    more = len(texts) - _ERRORS_SHOWN_MAX
    return ", ".join(texts[:_ERRORS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


def _request_topics(topics: Mapping[str, InternalTopic], context: RequestContext, expires_ms: int) -> None:
    broker = context.broker
    creations = broker.coordinators.groups.internal_topics
    timeout_ms = broker.config.request_timeout_ms
    request = CreateTopicsRequest(topics=_creatable(topics.values()), timeout_ms=timeout_ms)

    def created(response: Any) -> None:
        creations.end(topics)
        for topic in response.topics:
            if topic.error_code:
                message = topic.error_message or default_message(ErrorCode(topic.error_code))
                creations.failed(topic.name, message, expires_ms)
                _log.debug("streams: topic not created name={name} reason={reason}", name=topic.name, reason=message)

    def unreachable(failure: Failure) -> None:
        failure.trap(LinkFailure)
        creations.end(topics)
        for name in topics:
            creations.failed(name, str(failure.value), expires_ms)

    forwarded = broker.forward_to_controller(request, timeout_ms=timeout_ms, context=context)
    forwarded.addCallbacks(created, unreachable)
    forwarded.addErrback(lambda failure: _log.failure("Creation of internal topics failed", failure=failure))


def _creatable(topics: Iterable[InternalTopic]) -> list[CreatableTopic]:
    return [
        CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor or _DEFAULT_FACTOR,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()],
        )
        for topic in topics
    ]
