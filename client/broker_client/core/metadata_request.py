"""Metadata requests that create no topics, on old brokers neither. Mirrors KafkaAdminClient's MetadataRequests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.metadata import MetadataRequestTopic

__all__ = ["request_for"]

CREATION_CAN_BE_REFUSED_FROM: Final = 4
_NULL_MEANS_ALL_FROM: Final = 1


def request_for(topics: Sequence[MetadataRequestTopic] | None, version: int) -> MetadataRequest:
    """Ask for `topics` (None: all) and leave those alone that are not there.

    A broker before 0.11 would create what it is asked for: it is asked for all topics, as Java's Admin does.
    """
    if version >= CREATION_CAN_BE_REFUSED_FROM:
        asked = None if topics is None else list(topics)
        return MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    return MetadataRequest(topics=None if version >= _NULL_MEANS_ALL_FROM else [])
