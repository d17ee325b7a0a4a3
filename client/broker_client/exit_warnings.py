"""Logs how many records are lost when a process exits or is interrupted.

The level is critical: Python writes it to stderr if the program has no log handlers.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_client.process_forks import forks

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore

__all__ = ["warn_at_exit", "warn_of_given_up"]

_log = Logger()


def warn_of_given_up(core: ProducerCore, records: int, why: str) -> None:
    """Log the number of records that are given up, if there are any."""
    if records:
        _log.critical(
            "{given_up} records of {client_id} are given up: {why}",
            given_up=records,
            client_id=core.config.client_id,
            why=why,
        )


def warn_at_exit(core: ProducerCore) -> Callable[[], None]:
    """Register a warning at exit; return the function for `atexit.unregister` when the producer is closed."""
    made_after = forks.count

    def warn() -> None:
        if core.closed or forks.count != made_after:
            return
        unsent = core.accumulator.unacknowledged_records()
        if unsent:
            _log.critical(
                "the process ends with {unsent} records of {client_id} unacknowledged: close() the producer",
                unsent=unsent,
                client_id=core.config.client_id,
            )

    atexit.register(warn)
    return warn
