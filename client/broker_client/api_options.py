"""The set-up that the threaded and the asyncio producer share. Mirrors KafkaProducer."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.producer_config import ProducerConfig

__all__ = ["GRACE_MS", "LONGEST_WAIT_MS", "fresh_random", "longest_wait_ms", "with_client_id"]

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
    """Return the random numbers of a producer that was given none."""
    return random.Random()
