"""A consumer's Fetch under quotas: an answer that is too much is not sent, but an empty one (KIP-219).

Mirrors KafkaApis.handleFetchRequest: what is not sent is not counted and leaves its session as it was.
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

__all__ = ["throttled_answer"]

CORRELATION_BYTES: Final = 4
DIVERGING_EPOCHS_LOWEST: Final = 12


def throttled_answer(
    context: RequestContext, session: FetchContext, updates: dict[SessionKey, PartitionData]
) -> FetchResponse | None:
    """The empty answer of a client that has to wait, None for one that may have these partitions."""
    size = _size(session.would_name(updates), context.api_version)
    if context.broker.quotas.decide_fetch(context, size) <= 0:
        return None
    error_code, session_id = session.throttled_answer()
    return FetchResponse(error_code=error_code, session_id=session_id)


def _size(named: dict[SessionKey, PartitionData], version: int) -> int:
    """The bytes of the answer without its header, its size field included. Mirrors FetchResponse.sizeOf."""
    topics: list[FetchableTopicResponse] = []
    last: tuple[bytes, str] | None = None
    for key, data in named.items():
        if (key.topic_id, key.topic) != last:
            last = key.topic_id, key.topic
            topics.append(FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
        sized = data
        if version < DIVERGING_EPOCHS_LOWEST and data.diverging_epoch.epoch >= 0:
            # A session may know from a later version what was last fetched. Nothing but the sending fails on that.
            sized = copy(data)
            sized.diverging_epoch = EpochEndOffset()
        topics[-1].partitions.append(sized)
    frame = encode_response(FetchResponse(responses=topics), version, correlation_id=0)
    return len(frame) - CORRELATION_BYTES - response_header_version(FetchResponse, version)
