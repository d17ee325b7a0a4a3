"""The topics to which the members of a classic group subscribe, from the metadata of the consumer protocol. Mirrors
ClassicGroup.computeSubscribedTopics.

Kafka expects that metadata may end within a number, and then does not know the topics. Other malformed metadata, such
as the size of a text that is longer than the rest, fail the operation that reads them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONSUMER_PROTOCOL", "subscribed_topics"]

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of groups of consumers, whose metadata are subscriptions."""
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of all subscriptions, None if one of them ends within a number.

    Version 0 of a subscription is the prefix of all its versions.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR: a subscription is malformed in another way.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        try:
            topics.update(_topics(subscription))
        except struct.error:
            return None
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str]:
    at = _INT16.size
    _INT16.unpack_from(subscription)  # the version
    (count,) = _INT32.unpack_from(subscription, at)
    at += _INT32.size
    _check_size(count, len(subscription) - at)
    topics = []
    for _ in range(count):
        (size,) = _INT16.unpack_from(subscription, at)
        at += _INT16.size
        _check_size(size, len(subscription) - at)
        topics.append(subscription[at : at + size].decode("utf-8", "replace"))
        at += size
    (size,) = _INT32.unpack_from(subscription, at)
    _check_size(max(size, 0), len(subscription) - at - _INT32.size)  # user data, which may be null
    return topics


def _check_size(size: int, left: int) -> None:
    if not 0 <= size <= left:
        raise CoordinatorError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"a subscription has an element of size {size}, {left} bytes are left"
        )
