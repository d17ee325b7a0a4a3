"""Signals as a program has them that handles none: in tests the time limit of a test has a handler of its own."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HANDLED: Final = (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)


@contextmanager
def default_handlers() -> Iterator[None]:
    """Within it, Ctrl-C is Python's own and nobody handles any of HANDLED."""
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    before |= {number: signal.signal(number, signal.SIG_DFL) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
