"""Whether a link delivers messages. Two things can keep it from that, each with its own end: a hold and a cut.

- A held link keeps its messages, in order, until it is released. Its nodes notice nothing but the time that passes.
- A cut link loses them, and whatever is sent meanwhile. One that is held and cut has lost what it held.
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
    """A change of what keeps messages from their target; each begins or ends, never twice in a row."""

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
