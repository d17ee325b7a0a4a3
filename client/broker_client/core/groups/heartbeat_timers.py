"""When a member sends heartbeats, and when it or its coordinator is late. Mirrors Heartbeat.

Pure bookkeeping: every method gets the time in milliseconds.
"""

from __future__ import annotations

__all__ = ["HeartbeatTimers"]


class HeartbeatTimers:
    """Three deadlines: the next heartbeat, the end of the session, the end of the poll interval."""

    __slots__ = (
        "_heartbeat_interval_ms",
        "_max_poll_interval_ms",
        "_poll_deadline_ms",
        "_retry_backoff_ms",
        "_send_at_ms",
        "_session_deadline_ms",
        "_session_timeout_ms",
        "is_in_flight",
    )

    def __init__(
        self,
        *,
        session_timeout_ms: int,
        heartbeat_interval_ms: int,
        max_poll_interval_ms: int,
        retry_backoff_ms: int,
        now_ms: int,
    ) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._max_poll_interval_ms = max_poll_interval_ms
        self._retry_backoff_ms = retry_backoff_ms
        self.is_in_flight = False
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        """Start all three again, as after a join."""
        self._session_deadline_ms = now_ms + self._session_timeout_ms
        self._poll_deadline_ms = now_ms + self._max_poll_interval_ms
        self._send_at_ms = now_ms + self._heartbeat_interval_ms

    def reset_session(self, now_ms: int) -> None:
        """A new coordinator was found: it gets a whole session to respond."""
        self._session_deadline_ms = now_ms + self._session_timeout_ms

    def polled(self, now_ms: int) -> None:
        """The application has called poll."""
        self._poll_deadline_ms = now_ms + self._max_poll_interval_ms

    def sent(self, now_ms: int) -> None:
        """A heartbeat is under way."""
        self.is_in_flight = True
        self._send_at_ms = now_ms + self._heartbeat_interval_ms

    def succeeded(self, now_ms: int) -> None:
        """The coordinator has responded."""
        self.is_in_flight = False
        self._session_deadline_ms = now_ms + self._session_timeout_ms

    def failed(self, now_ms: int) -> None:
        """A heartbeat failed: the next follows after retry.backoff.ms."""
        self.is_in_flight = False
        self._send_at_ms = now_ms + self._retry_backoff_ms

    def is_session_expired(self, now_ms: int) -> bool:
        """True if the coordinator has not responded for session.timeout.ms."""
        return now_ms >= self._session_deadline_ms

    def is_poll_expired(self, now_ms: int) -> bool:
        """True if the application has not called poll for max.poll.interval.ms."""
        return now_ms >= self._poll_deadline_ms

    def is_due(self, now_ms: int) -> bool:
        """True if a heartbeat is to be sent."""
        return not self.is_in_flight and now_ms >= self._send_at_ms

    def next_ms(self, now_ms: int) -> int:
        """Return the milliseconds until the first of the deadlines."""
        due_ms = min(self._session_deadline_ms, self._poll_deadline_ms)
        if not self.is_in_flight:
            due_ms = min(due_ms, self._send_at_ms)
        return max(due_ms - now_ms, 0)
