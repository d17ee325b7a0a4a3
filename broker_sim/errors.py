"""The errors that broker_sim raises to its callers. A peer's mistakes become wire error codes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class BrokerSimError(Exception):
    """The base class of all errors that broker_sim raises to its callers."""


class NotThere(BrokerSimError):
    """The node that a call is for is not there at this time: a leader, a coordinator or an active controller."""


class ConfigError(BrokerSimError):
    """A configuration that cannot be used; the message names the option, the value and what was expected."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` with the known name nearest to a wrong one, or an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_key(key: str, known: Collection[str]) -> str:
    """Return the problem of a key of a file that is not known: the nearest one, and all that are."""
    return f"unknown key{nearest(key, known)}; expected one of {', '.join(known)}"
