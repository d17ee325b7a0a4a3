"""The steps of drawn conversations of groups, and what a side of a conversation has learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from protocol_specs.message import Message
    from tests.differential.probe import Probe

CLASSIC_SLOTS: Final = (0, 1)
"""Two classic members at most: which of several follows a leader that leaves depends on a hash of random ids."""

MODERN_SLOTS: Final = (2, 3, 4)
ADMIN_SLOT: Final = 5
LONG_MS: Final = 60_000


@dataclass(slots=True)
class Known:
    """State that a member has received from one side."""

    id: str = ""
    generation: int = -1
    leads: bool = False
    assigned: dict[bytes, list[int]] = field(default_factory=dict)
    tasks: dict[str, list[int]] = field(default_factory=dict)
    """Subtopology -> the partitions of active tasks."""
    standby: dict[str, list[int]] = field(default_factory=dict)
    """Subtopology -> the partitions of standby tasks."""
    session: int = 0
    """The next epoch of its share session, 0 without one."""
    acquired: list[tuple[bytes, int, int, int]] = field(default_factory=list)
    """Topic id, partition, and the first and last offset of the records that it was given last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStep:
    """One request of a member, or of the administrator."""

    slot: int
    version: int
    note: str
    build: Callable[[Side], Message]
    settle: Callable[[Side], object] | None = None
    """Waits for what the broker does after its response."""

    only: Callable[[Any], Any] | None = None
    """Returns the part of the response's JSON form that is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStep:
    """A change of topics or configurations, or a pause; what `apply` returns is compared."""

    note: str
    apply: Callable[[Side], Any]


class Side:
    """One side of a conversation, as steps read it: its members and the ids of its topics."""

    def __init__(self, probe: Probe, given_ids: Mapping[str, bytes] | None) -> None:
        self.probe = probe
        self.given_ids = given_ids
        """The ids that topics get; None where the broker draws them."""
        self.members = {slot: Known() for slot in range(ADMIN_SLOT + 1)}
        self.topic_ids: dict[str, bytes] = {}

    def disconnect(self, slot: int) -> None:
        """Close the connection of a member."""
        raise NotImplementedError
