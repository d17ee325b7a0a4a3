"""The topics to which the members of a classic group subscribe, from the metadata of the consumer protocol. Mirrors
ClassicGroup.computeSubscribedTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import MessageDecodeError
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONSUMER_PROTOCOL", "subscribed_topics"]

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of groups of consumers, whose metadata are subscriptions."""
_VERSION_SIZE: Final = 2


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of all subscriptions, None if one of them is malformed.

    Version 0 of a subscription is the prefix of all its versions.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        if len(subscription) < _VERSION_SIZE:
            return None
        try:
            decoded, _ = ConsumerProtocolSubscription.decode_from(0, subscription, _VERSION_SIZE)
        except MessageDecodeError:
            return None
        topics.update(decoded.topics)
    return frozenset(topics)
