"""The line on stderr of a command that has waited for its first broker for a while, long before `--timeout` ends it."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["NOTICE_AFTER_S", "ConnectionNotice"]

NOTICE_AFTER_S: Final = 2.0


class _Client(Protocol):
    def connection_problems(self) -> list[str] | None: ...


class ConnectionNotice:
    """Writes one line per block if no broker has sent metadata to `client` after NOTICE_AFTER_S."""

    def __init__(self, client: _Client, servers: str, timeout_s: float) -> None:
        self._client = client
        self._servers = servers
        self._timeout_s = timeout_s
        self._timer = threading.Timer(NOTICE_AFTER_S, self.write)
        self._timer.daemon = True

    def write(self) -> None:
        """Write the line, if there are no metadata and no end of the block yet."""
        from broker_client.errors import ProducerError
        from sim_runtime.reactor_thread import ReactorThreadError

        try:
            problems = self._client.connection_problems()
        except (ProducerError, ReactorThreadError):  # the block has ended meanwhile, and its client with it
            return
        if problems is not None:
            reasons = f" ({'; '.join(problems)})" if problems else ""
            sys.stderr.write(f"waiting up to {self._timeout_s:g} s (--timeout) for {self._servers}{reasons}\n")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        if self._timeout_s > NOTICE_AFTER_S:
            self._timer.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
