"""The checks of metadata in each poll: brokers respond, and the subscribed topics may be read.

Mirrors Metadata.maybeThrowAnyException.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import InvalidTopic, ProducerClosed, ProducerTimeout, TopicAuthorizationFailed

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.network.client_core import ClientCore

__all__ = ["MetadataChecks"]


class MetadataChecks:
    """The checks of one consumer."""

    def __init__(self, core: ClientCore, subscriptions: SubscriptionState) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._unanswered_since_ms: int | None = None

    def check(self) -> None:
        """Request metadata if there is none.

        Raises:
            ProducerTimeout: no broker has responded for default.api.timeout.ms.
            TopicAuthorizationFailed: a subscribed topic may not be described.
            InvalidTopic: the name of a subscribed topic is not valid.
        """
        metadata = self._core.metadata
        cluster = metadata.cluster
        if cluster.is_bootstrap:
            self._expect_metadata(now_ms_of(self._core.reactor))
            metadata.request_update()
            return
        self._unanswered_since_ms = None
        for topic in self._subscriptions.topics:
            if topic in cluster.unauthorized_topics:
                raise TopicAuthorizationFailed(topic)
            if topic in cluster.invalid_topics:
                raise InvalidTopic(topic)

    def raise_failure(self) -> None:
        """Raise the error that no update heals, once.

        Raises:
            ProducerError: authentication failed, or brokers refuse the request.
            ProducerClosed: the client is closed.
        """
        failure = self._core.metadata.take_fatal_error()
        if failure is not None:
            raise failure
        if self._core.metadata.closed:
            raise ProducerClosed("the consumer is closed")

    def _expect_metadata(self, now_ms: int) -> None:
        if self._unanswered_since_ms is None:
            self._unanswered_since_ms = now_ms
        limit_ms = self._core.options.default_api_timeout_ms
        if now_ms - self._unanswered_since_ms >= limit_ms:
            self._unanswered_since_ms = None
            problems = "; ".join(self._core.client.connection_problems())
            text = f"no metadata from bootstrap.servers after {limit_ms} ms"
            raise ProducerTimeout(f"{text} ({problems})" if problems else text, "default.api.timeout.ms")
