"""The states of a link. Two causes can stop it from delivering messages, each with its own end: a hold and a cut.

- A held link keeps its messages, in order, until it is released. Its nodes notice only the delay.
- A cut link loses them, and all later ones. A held link that is cut loses the messages that it held.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE", "TRANSITIONS", "LinkEvent", "LinkState"]


class LinkState(Enum):
    """The state of one direction between two nodes."""

    OPEN = auto()
    HELD = auto()
    CUT = auto()
    HELD_AND_CUT = auto()


class LinkEvent(Enum):
    """The begin or the end of a cause that stops messages; neither comes twice in a row."""

    HOLD = auto()
    RELEASE = auto()
    CUT = auto()
    RESTORE = auto()


TRANSITIONS: Final[Mapping[tuple[LinkState, LinkEvent], LinkState]] = {
    (LinkState.OPEN, LinkEvent.HOLD): LinkState.HELD,
    (LinkState.OPEN, LinkEvent.CUT): LinkState.CUT,
    (LinkState.HELD, LinkEvent.RELEASE): LinkState.OPEN,
    (LinkState.HELD, LinkEvent.CUT): LinkState.HELD_AND_CUT,
    (LinkState.CUT, LinkEvent.HOLD): LinkState.HELD_AND_CUT,
    (LinkState.CUT, LinkEvent.RESTORE): LinkState.OPEN,
    (LinkState.HELD_AND_CUT, LinkEvent.RELEASE): LinkState.CUT,
    (LinkState.HELD_AND_CUT, LinkEvent.RESTORE): LinkState.HELD,
}

TABLE: Final = StateTable("LinkState", TRANSITIONS)
