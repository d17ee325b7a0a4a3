"""Interceptors receive the records of each poll, may replace them, and are notified of commits (KIP-42).

Mirrors ConsumerInterceptor and ConsumerInterceptors. An error that an interceptor raises is logged and has no other
effect: the next one receives the records of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from twisted.logger import Logger

from broker_client.interceptors import InterceptorChain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.records import TopicPartition

__all__ = ["ConsumerInterceptor", "ConsumerInterceptors"]

_log = Logger()


class ConsumerInterceptor(Protocol):
    """The methods of an element of `interceptor.classes`: an object, a class, or the dotted name of a class.

    All run in the thread that calls the consumer. `on_commit`, `close` and `configure`, which receives the settings,
    are optional.
    """

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """Return the records that `poll` returns, which may be the same. Not called if there are none."""
        ...

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Receive offsets that were committed."""
        ...

    def close(self) -> None:
        """Release resources. Called once, when the consumer is closed."""
        ...


class ConsumerInterceptors(InterceptorChain[ConsumerInterceptor]):
    """The interceptors of a consumer in their order."""

    __slots__ = ()

    needed = "on_consume(records)"

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """Return the records after all interceptors."""
        for interceptor in self._chain if records else ():
            try:
                made = interceptor.on_consume(records)
                if not isinstance(made, list):
                    raise TypeError(f"on_consume returned {made!r}, not a list of records")  # noqa: TRY301
                records = made
            except Exception:  # noqa: BLE001 - an interceptor's error must not stop records
                _log.failure("on_consume of {interceptor} raised", interceptor=interceptor)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Notify all interceptors of committed offsets."""
        self.notify("on_commit", offsets)
