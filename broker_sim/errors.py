"""The errors that broker_sim raises to its callers. A peer's mistakes become wire error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


__all__ = ["BrokerSimError", "ConfigError", "NotThere", "nearest", "raise_together", "unknown_key"]


class BrokerSimError(Exception):
    """The base class of all errors that broker_sim raises to its callers."""


class NotThere(BrokerSimError):
    """The node that a call is for is not there at this time: a leader, a coordinator or an active controller."""


class ConfigError(BrokerSimError):
    """A configuration that cannot be used; the message names the option, the value and what was expected."""


def raise_together(errors: Sequence[ConfigError]) -> None:
    """Raise the errors of one mapping: none, the only one as it is, or one with a line per error."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError("\n".join(map(str, errors)))


def unknown_key(key: str, known: Collection[str]) -> str:
    """Return the problem of a key of a file that is not known: the nearest one, and all that are."""
    return f"unknown key{nearest(key, known)}; expected one of {', '.join(known)}"
