"""Options, defaults and checks of arguments that the threaded and the asyncio clients share."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Final

from broker_client.errors import IllegalState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.producer_config import ProducerConfig

__all__ = [
    "CLOSE_S",
    "GRACE_MS",
    "LONGEST_WAIT_MS",
    "fresh_random",
    "longest_wait_ms",
    "milliseconds",
    "topic_names",
    "with_client_id",
]

CLOSE_S: Final = 30.0
"""The time that `close` of a consumer takes at most by default, in seconds."""

# Added to the limit of a wait without a time-out of its caller, beyond the time-outs that end it before.
GRACE_MS: Final = 5_000
# Threads cannot wait as long as a configuration allows (threading.TIMEOUT_MAX, 292 years).
LONGEST_WAIT_MS: Final = 100 * 365 * 24 * 3_600_000
_CLIENT_IDS: Final = itertools.count(1)


def with_client_id(config: Mapping[str, object] | None, options: Mapping[str, object]) -> dict[str, object]:
    """Return all given options, with a numbered client.id if nothing else names the producer."""
    given = {**(config or {}), **options}
    if not {"client.id", "client_id", "transactional.id", "transactional_id"} & set(given):
        given["client.id"] = f"producer-{next(_CLIENT_IDS)}"
    return given


def longest_wait_ms(config: ProducerConfig) -> int:
    """Return the time in milliseconds after which every sent record has ended, even if no broker responds."""
    waits = config.delivery_timeout_ms + config.number("request.timeout.ms") + config.number("max.block.ms")
    return min(waits, LONGEST_WAIT_MS) + GRACE_MS


def fresh_random() -> random.Random:
    """Return the random numbers of a client that was given none."""
    return random.Random()


def milliseconds(timeout_s: float | None) -> int | None:
    """Return a time-out in ms; None stays None."""
    return None if timeout_s is None else int(timeout_s * 1000)


def topic_names(topics: Iterable[str]) -> list[str]:
    """Return the topics of a subscription.

    Raises:
        IllegalState: a string was given in place of a list.
    """
    if isinstance(topics, str):
        raise IllegalState(f"subscribe: expected a list of topics, not the string {topics!r}")
    return list(topics)
