"""The bodies of requests for fault rules: parsed before their time, and the partitions that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.api_key import ApiKey
from protocol_specs.errors import ProtocolError
from protocol_specs.named_partitions import partitions_in
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message

__all__ = ["named_places", "parsed_request"]


def parsed_request(context: RequestContext) -> Message | None:
    """Return the body of a request, parsed if need be; None for an invalid one, which the transport refuses later."""
    if context.request is None:
        try:
            body = context.frame[context.body_start :]
            context.request = request_type(context.api_key).decode(context.api_version, body)
        except ProtocolError:
            return None
    request: Message = context.request
    return request


def named_places(context: RequestContext) -> Iterator[tuple[str, int | None]]:
    """Iterate over the topics and partitions that a request names; a follower's Fetch has those of its session too."""
    broker: Any = context.broker
    topics = broker.metadata_cache.image.topics_by_id

    def name_of(topic_id: bytes) -> str | None:
        found = topics.get(topic_id)
        return None if found is None else found.name

    yield from partitions_in(parsed_request(context), name_of)
    if context.api_key is ApiKey.FETCH and context.replica_id >= 0 and hasattr(broker, "replica_manager"):
        yield from broker.replica_manager.roles.session_partitions(context.replica_id)
