"""Requests as brokers before 0.11 take them, which know less than newer ones. Mirrors MetadataRequest.Builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from broker_client.core.api_versions import NodeApiVersions

__all__ = ["metadata_request_for"]

_SAYS_WHETHER_TO_CREATE_FROM: Final = 4
_NULL_IS_ALL_TOPICS_FROM: Final = 1


def metadata_request_for(node: NodeApiVersions, request: MetadataRequest) -> MetadataRequest:
    """The request for this node. One that may not create topics asks for all: a broker would create what is named.

    In version 0 no topics are all topics.
    """
    theirs = node.ranges.get(MetadataRequest.API_KEY)
    if theirs is None or theirs.highest >= _SAYS_WHETHER_TO_CREATE_FROM:
        return request
    topics = request.topics if request.allow_auto_topic_creation else None
    if topics is None and theirs.highest < _NULL_IS_ALL_TOPICS_FROM:
        topics = []
    return MetadataRequest(topics=topics)
