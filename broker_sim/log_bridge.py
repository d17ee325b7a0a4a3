"""Forwards the log of the simulator, which Twisted's logger writes, to Python's `logging`: handlers and caplog see it.

A logger has the name of the module, such as `broker_sim.network.processor`. The first cluster of a process adds the
observer and the last one removes it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final, cast

from twisted.logger import LogLevel, formatEvent, globalLogPublisher

if TYPE_CHECKING:
    from twisted.logger import ILogObserver, LogEvent

__all__ = ["forward_logs", "stop_forwarding_logs"]

LEVELS: Final = {
    LogLevel.debug: logging.DEBUG,
    LogLevel.info: logging.INFO,
    LogLevel.warn: logging.WARNING,
    LogLevel.error: logging.ERROR,
    LogLevel.critical: logging.CRITICAL,
}
OURS: Final = ("broker_sim.", "sim_runtime.", "protocol_specs.")

_lock = threading.Lock()
_users: list[None] = []


def forward_logs() -> None:
    """Forward the log from now on, until as many calls of `stop_forwarding_logs`."""
    with _lock:
        _users.append(None)
        if len(_users) == 1:
            globalLogPublisher.addObserver(_OBSERVER)


def stop_forwarding_logs() -> None:
    """End one `forward_logs`."""
    with _lock:
        _users.pop()
        if not _users:
            globalLogPublisher.removeObserver(_OBSERVER)


def _forward(event: LogEvent) -> None:
    """Log one event of the simulator, or an error that Twisted has caught."""
    namespace = event.get("log_namespace") or "twisted"
    failure = event.get("log_failure")
    if failure is None and not namespace.startswith(OURS):
        return
    exc_info = None if failure is None else (failure.type, failure.value, failure.getTracebackObject())
    logging.getLogger(namespace).log(LEVELS[event["log_level"]], "%s", formatEvent(event), exc_info=exc_info)


_OBSERVER: Final = cast("ILogObserver", _forward)
