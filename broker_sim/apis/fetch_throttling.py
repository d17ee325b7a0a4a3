"""A consumer's Fetch under quotas: above its quota it gets an empty response (KIP-219).

Mirrors KafkaApis.handleFetchRequest: data that is not sent is not counted and does not change the session.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from protocol_specs.framing import encode_response
from protocol_specs.messages.fetch import EpochEndOffset, FetchableTopicResponse, FetchResponse
from protocol_specs.messages.headers import response_header_version

if TYPE_CHECKING:
    from broker_sim.apis.fetch_sessions import FetchContext, SessionKey
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.fetch import PartitionData

__all__ = ["throttled_response"]

CORRELATION_BYTES: Final = 4
DIVERGING_EPOCHS_LOWEST: Final = 12


def throttled_response(
    context: RequestContext, session: FetchContext, updates: dict[SessionKey, PartitionData]
) -> FetchResponse | None:
    """Return the empty response of a client over its quota; None for a client below it, or whose response waits."""
    size = _size(session.would_name(updates), context.api_version)
    quotas = context.broker.quotas
    if quotas.decide_fetch(context, size) <= 0 or quotas.delays_responses:
        return None
    error_code, session_id = session.throttled_response()
    return FetchResponse(error_code=error_code, session_id=session_id)


def _size(named: dict[SessionKey, PartitionData], version: int) -> int:
    """Return the bytes of the response without its header, its size field included. Mirrors FetchResponse.sizeOf."""
    topics: list[FetchableTopicResponse] = []
    last: tuple[bytes, str] | None = None
    for key, data in named.items():
        if (key.topic_id, key.topic) != last:
            last = key.topic_id, key.topic
            topics.append(FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
        sized = data
        if version < DIVERGING_EPOCHS_LOWEST and data.diverging_epoch.epoch >= 0:
            # A session may have the last fetched epoch from a later version. Only encoding fails on it.
            sized = copy(data)
            sized.diverging_epoch = EpochEndOffset()
        topics[-1].partitions.append(sized)
    frame = encode_response(FetchResponse(responses=topics), version, correlation_id=0)
    return len(frame) - CORRELATION_BYTES - response_header_version(FetchResponse, version)
