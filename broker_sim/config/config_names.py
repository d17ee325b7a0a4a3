"""The several names of one broker configuration: units of time, and overrides of a listener.

Mirrors DynamicBrokerConfig.brokerConfigSynonyms.
"""

from __future__ import annotations

import re
from typing import Final

_SYNONYMS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH_MS: Final = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_OF_A_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_A_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def of_a_listener(name: str) -> str | None:
    """Return the part after `listener.name.<listener>.`; None when the name is not a listener's."""
    found = _OF_A_LISTENER.fullmatch(name)
    return None if found is None else found[1]


def base_name(name: str) -> str:
    """Return the configuration that a listener's (or SASL mechanism's) name overrides; any other name unchanged."""
    base = of_a_listener(name)
    if base is None:
        return name
    return next((each for each in _OF_A_MECHANISM if base.endswith(each)), base)


def synonyms_of(name: str) -> tuple[str, ...]:
    """The names that are looked up for a configuration, the first one first."""
    if name == _FLUSH_MS[0]:
        return _FLUSH_MS
    for group in _SYNONYMS:
        if name in group:
            return group
    return (name,) if of_a_listener(name) is None else (name, base_name(name))


def replaced_by(name: str) -> tuple[str, ...]:
    """The names that no longer count once this one is set at a higher place."""
    return (name,) if of_a_listener(name) is not None else synonyms_of(name)
