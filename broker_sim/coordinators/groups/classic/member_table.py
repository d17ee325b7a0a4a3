"""The members of a classic group in the order of the broker's hash table. Mirrors `members` of ClassicGroup.

JoinGroup lists them to the leader in this order, and so do DescribeGroups and the record of the group. Up to 3.9 the
default coordinator keeps a table of Scala, where each bucket is sorted; later ones keep a java.util.HashMap.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, TypeVar, overload

from protocol_specs.java_hash import hash_order, hash_set_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.coordinators.groups.classic.classic_member import ClassicMember

__all__ = ["MemberTable"]

T = TypeVar("T")


class MemberTable(MutableMapping[str, "ClassicMember"]):
    """Member id -> member. A table never shrinks: the order depends on the most members that the group has had."""

    def __init__(self, *, of_scala: bool) -> None:
        self._of_scala = of_scala
        self._members: dict[str, ClassicMember] = {}
        self._order: list[str] | None = []
        """The ids in the order of the table; None after a change."""
        self._most = 0

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._members[member_id]

    @overload
    def get(self, member_id: str, default: None = None, /) -> ClassicMember | None: ...
    @overload
    def get(self, member_id: str, default: ClassicMember | T, /) -> ClassicMember | T: ...
    def get(self, member_id: str, default: ClassicMember | T | None = None, /) -> ClassicMember | T | None:
        """Return a member, or the default."""
        return self._members.get(member_id, default)

    def __setitem__(self, member_id: str, member: ClassicMember) -> None:
        self._members[member_id] = member
        self._most = max(self._most, len(self._members))
        self._order = None

    def __delitem__(self, member_id: str) -> None:
        del self._members[member_id]
        self._order = None

    def __iter__(self) -> Iterator[str]:
        if self._order is None:
            self._order = self._ordered()
        return iter(self._order)

    def _ordered(self) -> list[str]:
        ids = list(self._members)
        if self._of_scala:
            return [ids[place] for place in hash_set_order(map(string_hash, ids), most=self._most)]
        return hash_order(ids, beside=self._most - len(ids))
