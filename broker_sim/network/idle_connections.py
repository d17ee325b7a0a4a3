"""Closes the idle connections of a Processor. Mirrors Selector.IdleExpiryManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.network.channel import KafkaChannel
    from sim_runtime.interfaces import IReactor

__all__ = ["IdleConnections", "last_active_us"]

POLL_MS: Final = 300
"""The time for which Kafka's Processor waits in `Selector.poll` when no socket is ready."""


class IdleConnections:
    """Closes the least recently used channel after connections.max.idle.ms, one per poll."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        now_us: Callable[[], int],
        limit_ms: Callable[[], int],
        channels: Mapping[KafkaChannel, None],
    ) -> None:
        self._reactor = reactor
        self._now_us = now_us
        self._limit_ms = limit_ms
        self._channels = channels
        self._timer: IDelayedCall | None = None

    def watch(self, pause_us: int = 0) -> None:
        """Schedule the next check: when the oldest connection expires, but not before the pause ends."""
        limit_ms = self._limit_ms()
        if self._timer is None and limit_ms >= 0 and self._channels:
            idle_since_us = min(channel.last_active_us for channel in self._channels)
            delay_us = idle_since_us + limit_ms * 1000 - self._now_us()
            self._timer = self._reactor.callLater(max(pause_us, delay_us) / 1_000_000, self._close_oldest)

    def stop(self) -> None:
        """Cancel the next check."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_oldest(self) -> None:
        """Close one connection per poll of POLL_MS. Mirrors Selector.maybeCloseOldestConnection."""
        self._timer = None
        limit_ms = self._limit_ms()
        now_us = self._now_us()
        oldest = min(self._channels, key=last_active_us)
        if oldest.last_active_us > now_us - limit_ms * 1000:
            self.watch()
            return
        oldest.close(f"idle for {limit_ms} ms (connections.max.idle.ms)")
        oldest.last_active_us = now_us
        self.watch(POLL_MS * 1000)


def last_active_us(channel: KafkaChannel) -> int:
    """Return the time of the channel's last use, in microseconds."""
    return channel.last_active_us
