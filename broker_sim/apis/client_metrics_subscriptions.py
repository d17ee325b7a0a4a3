"""The metrics that clients push, by the configurations of client metrics. Mirrors SubscriptionInfo (KIP-714).

An invalid configuration was refused when it was set, so that each one here is valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PUSH_INTERVAL_MS: Final = 300_000
EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One resource of client metrics. `match`: patterns by attribute of the client; without any it matches all."""

    metrics: tuple[str, ...]
    interval_ms: int
    match: Mapping[str, str]

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> Subscription:
        """Read a resource's configurations."""
        patterns = dict(pattern.split("=", 1) for pattern in _items(configs.get("match", "")) if "=" in pattern)
        return cls(
            metrics=tuple(_items(configs.get("metrics", ""))),
            interval_ms=int(configs.get("interval.ms", PUSH_INTERVAL_MS)),
            match={name.strip(): pattern.strip() for name, pattern in patterns.items()},
        )

    def is_for(self, attributes: Mapping[str, str | None]) -> bool:
        """Return True if every pattern matches the whole attribute of the client."""
        return all(_matches(pattern, attributes.get(name)) for name, pattern in self.match.items())


def wanted_of(subscriptions: Iterable[Subscription], attributes: Mapping[str, str | None]) -> tuple[Sequence[str], int]:
    """Return the metrics that a client shall push, in the order of a Java hash set, and the push interval."""
    metrics: dict[str, None] = {}
    interval_ms = PUSH_INTERVAL_MS
    for subscription in subscriptions:
        if subscription.is_for(attributes):
            metrics.update(dict.fromkeys(subscription.metrics))
            interval_ms = min(interval_ms, subscription.interval_ms)
    return ([EVERYTHING] if EVERYTHING in metrics else hash_order(metrics)), interval_ms


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text.strip() else []


def _matches(pattern: str, value: str | None) -> bool:
    try:
        return value is not None and re.fullmatch(pattern, value) is not None
    except re.error:  # Java knows forms of patterns that Python does not
        return False
