"""The errors of broker_sim: what a caller of ours did wrong. A peer's mistakes become wire error codes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class BrokerSimError(Exception):
    """The root of everything that broker_sim raises to its callers."""


class ConfigError(BrokerSimError):
    """A configuration that cannot be used; the text names the option, the value and what would do."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The words `; did you mean 'x'?` for the known name nearest to a wrong one, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
