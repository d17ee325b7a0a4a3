"""The protocol of a classic group: its members vote among those that all support. Mirrors ClassicGroup.selectProtocol.

A draw goes to the first protocol of the hash table that counts the votes: Java's HashMap, and Scala's groupBy in the
old coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import SMALLEST_TRIE, hash_order, immutable_set_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Collection

    from broker_sim.coordinators.groups.classic.classic_member import ClassicMember

__all__ = ["ProtocolCounts", "most_voted"]


class ProtocolCounts:
    """How many members of a group support each protocol; a member that lists one twice counts twice."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, member: ClassicMember) -> None:
        """Count the protocols of a member."""
        for name, _ in member.protocols:
            self._counts[name] = self._counts.get(name, 0) + 1

    def remove(self, member: ClassicMember) -> None:
        """Stop counting the protocols of a member."""
        for name, _ in member.protocols:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]

    def count(self, protocol: str) -> int:
        """Return how many members support a protocol."""
        return self._counts.get(protocol, 0)

    def supported_by(self, members: int) -> frozenset[str]:
        """Return the protocols that this number of members support."""
        return frozenset(name for name, count in self._counts.items() if count == members)


def most_voted(members: Collection[ClassicMember], candidates: frozenset[str], *, old_coordinator: bool) -> str:
    """Return the protocol with the most votes.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR: a member supports none of the candidates.
    """
    votes: dict[str, int] = {}
    for member in members:
        choice = member.vote(candidates)
        if choice is None:
            raise CoordinatorError(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"member {member.member_id} supports no protocol of all members"
            )
        votes[choice] = votes.get(choice, 0) + 1
    names = list(votes)
    if old_coordinator:
        places = immutable_set_order(map(string_hash, names), was=SMALLEST_TRIE)
        names = [names[place] for place in places]
    else:
        names = hash_order(names)
    return max(names, key=votes.__getitem__)
