"""Requests as brokers before 0.11 take them, which know less than newer ones. Mirrors MetadataRequest.Builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from broker_client.core.network.api_versions import NodeApiVersions

__all__ = ["metadata_request_at", "metadata_request_for"]

_ALLOW_AUTO_CREATION_FROM: Final = 4
_NULL_IS_ALL_TOPICS_FROM: Final = 1


def metadata_request_for(node: NodeApiVersions, request: MetadataRequest) -> MetadataRequest:
    """The request for this node."""
    theirs = node.ranges.get(MetadataRequest.API_KEY)
    return request if theirs is None else metadata_request_at(theirs.highest, request)


def metadata_request_at(version: int, request: MetadataRequest) -> MetadataRequest:
    """The request in a version. One that may not create topics requests all: brokers create those that are named.

    In version 0 no topics are all topics.
    """
    if version >= _ALLOW_AUTO_CREATION_FROM:
        return request
    topics = request.topics if request.allow_auto_topic_creation else None
    if topics is None and version < _NULL_IS_ALL_TOPICS_FROM:
        topics = []
    return MetadataRequest(topics=topics)
