"""Records that are left behind, as their process ends or by Ctrl-C, are told, with their number.

By the log, at its highest level: a program that has set up no log finds it on stderr.
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
    """Say that so many records end here, if any."""
    if records:
        _log.critical(
            "{given_up} records of {client_id} are given up: {why}",
            given_up=records,
            client_id=core.config.client_id,
            why=why,
        )


def warn_at_exit(core: ProducerCore) -> Callable[[], None]:
    """Answers what `atexit.unregister` takes once the producer is closed."""
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
