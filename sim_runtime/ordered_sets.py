"""Sets that iterate in the order of insertion: the order of a built-in set depends on PYTHONHASHSEED and on addresses.

They take the place of `set` and `frozenset` in modules whose code was not written for equal runs. They are subclasses,
so that code in C reads their members as well; `isinstance` with them accepts every built-in set.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FrozenOrderedSet", "OrderedSet", "OrderedWeakSet"]

T = TypeVar("T")

_BUILT_IN = (set, frozenset)


class _AnySet(type):
    """In a patched module `isinstance(x, set)` tests for this class: a built-in set is an instance, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[-2])


class _NewSets:
    """The operations of a set that make another one."""

    __slots__ = ()

    _order: dict[Any, None]

    @staticmethod
    @abstractmethod
    def _new(members: Iterable[Any]) -> Any:
        """Make the new set: also for a subclass in foreign code one of ours, as the built-in sets do."""

    def union(self, *others: Iterable[Any]) -> Any:
        """As set.union."""
        return self._new(_union(self._order, others))

    def intersection(self, *others: Iterable[Any]) -> Any:
        """As set.intersection."""
        return self._new(_intersection(self._order, others))

    def difference(self, *others: Iterable[Any]) -> Any:
        """As set.difference."""
        return self._new(_difference(self._order, others))

    def symmetric_difference(self, other: Iterable[Any], /) -> Any:
        """As set.symmetric_difference."""
        return self._new(_symmetric_difference(self._order, other))

    def __or__(self, other: Any) -> Any:
        return self.union(other) if isinstance(other, _BUILT_IN) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return self._new(other).union(self) if isinstance(other, _BUILT_IN) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self.intersection(other) if isinstance(other, _BUILT_IN) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        # In this set's order, which is known, where a built-in set on the left has none.
        return self.intersection(other) if isinstance(other, _BUILT_IN) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.difference(other) if isinstance(other, _BUILT_IN) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return self._new(other).difference(self) if isinstance(other, _BUILT_IN) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return self.symmetric_difference(other) if isinstance(other, _BUILT_IN) else NotImplemented

    __rxor__ = __xor__


class OrderedSet(_NewSets, set[T], metaclass=_AnySet):
    """A set in the order of insertion. `pop` removes the oldest member."""

    __slots__ = ("_order",)

    def __init__(self, members: Iterable[T] = ()) -> None:
        self._order: dict[T, None] = dict.fromkeys(members)
        super().__init__(self._order)

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self._order)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._order),)

    def _keep(self, order: dict[T, None]) -> None:
        self._order = order
        super().clear()
        super().update(order)

    # Changes

    def add(self, member: T, /) -> None:
        """As set.add."""
        self._order[member] = None
        super().add(member)

    def discard(self, member: object, /) -> None:
        """As set.discard."""
        self._order.pop(cast("T", member), None)
        super().discard(member)

    def remove(self, member: T, /) -> None:
        """As set.remove."""
        super().remove(member)
        del self._order[member]

    def pop(self) -> T:
        """Remove and return the oldest member."""
        if not self._order:
            raise KeyError("pop from an empty set")
        member = next(iter(self._order))
        self.remove(member)
        return member

    def clear(self) -> None:
        """As set.clear."""
        self._keep({})

    def update(self, *others: Iterable[T]) -> None:
        """As set.update."""
        self._keep(_union(self._order, others))

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """As set.intersection_update."""
        self._keep(_intersection(self._order, others))

    def difference_update(self, *others: Iterable[Any]) -> None:
        """As set.difference_update."""
        self._keep(_difference(self._order, others))

    def symmetric_difference_update(self, other: Iterable[T], /) -> None:
        """As set.symmetric_difference_update."""
        self._keep(_symmetric_difference(self._order, other))

    def __ior__(self, other: Any) -> Any:
        return _in_place(self, OrderedSet.update, other)

    def __iand__(self, other: Any) -> Any:
        return _in_place(self, OrderedSet.intersection_update, other)

    def __isub__(self, other: Any) -> Any:
        return _in_place(self, OrderedSet.difference_update, other)

    def __ixor__(self, other: Any) -> Any:
        return _in_place(self, OrderedSet.symmetric_difference_update, other)

    @staticmethod
    def _new(members: Iterable[Any]) -> OrderedSet[Any]:
        return OrderedSet(members)

    def copy(self) -> OrderedSet[T]:
        """As set.copy."""
        return OrderedSet(self._order)


class FrozenOrderedSet(_NewSets, frozenset[T], metaclass=_AnySet):
    """A frozenset in the order of insertion; equal to a built-in one with the same members, with the same hash."""

    __slots__ = ("_order",)

    _order: dict[T, None]

    def __new__(cls, members: Iterable[T] = ()) -> FrozenOrderedSet[T]:
        """Make a set of the members."""
        order = dict.fromkeys(members)
        made = super().__new__(cls, order)
        made._order = order
        return made

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"FrozenOrderedSet({list(self._order)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._order),)

    @staticmethod
    def _new(members: Iterable[Any]) -> FrozenOrderedSet[Any]:
        return FrozenOrderedSet(members)

    def copy(self) -> FrozenOrderedSet[T]:
        """As frozenset.copy."""
        return self


class OrderedWeakSet:
    """A WeakSet in the order of insertion, by identity: the part that an event loop uses for its async generators."""

    def __init__(self) -> None:
        self._members: dict[int, ref[Any]] = {}

    def add(self, member: object) -> None:
        """Keep a member until it dies."""
        number = id(member)
        self._members[number] = ref(member, lambda _: self._members.pop(number, None))

    def discard(self, member: object) -> None:
        """Remove a member, if it is one."""
        self._members.pop(id(member), None)

    def clear(self) -> None:
        """Remove all."""
        self._members.clear()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        return iter([member for reference in self._members.values() if (member := reference()) is not None])


def _union(first: dict[T, None], others: Iterable[Iterable[T]]) -> dict[T, None]:
    order = dict(first)
    for other in others:
        order.update(dict.fromkeys(other))
    return order


def _intersection(first: dict[T, None], others: Iterable[Iterable[Any]]) -> dict[T, None]:
    shared = [frozenset(other) for other in others]
    return {member: None for member in first if all(member in other for other in shared)}


def _difference(first: dict[T, None], others: Iterable[Iterable[Any]]) -> dict[T, None]:
    order = dict(first)
    for other in others:
        for member in list(other):
            order.pop(member, None)
    return order


def _symmetric_difference(first: dict[T, None], other: Iterable[T]) -> dict[T, None]:
    second = dict.fromkeys(other)
    return {**_difference(first, (second,)), **_difference(second, (first,))}


def _in_place(changed: OrderedSet[Any], change: Any, other: Any) -> Any:
    if not isinstance(other, _BUILT_IN):
        return NotImplemented
    change(changed, other)
    return changed
