"""The classes that a broker or controller makes its parts of: the seam of defects (see `broker_sim.defects`).

A part that a defect can replace is made by `config.part_types.of(Part)(...)` in place of `Part(...)`. Without defects
this returns the class itself, once per part and incarnation, so that no request pays for the seam.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["AS_BUILT", "PartTypes"]

T = TypeVar("T")


class PartTypes:
    """Maps each class of a part to the subclass that takes its place.

    A substitute names the replaced class as its first base. It also takes the place of the subclasses of that class,
    such as the logs with files of a log in memory. Several substitutes of one class are combined, the first one
    outermost, as in the order of the bases of a class.
    """

    __slots__ = ("_found", "_substitutes")

    def __init__(self, substitutes: Iterable[type] = ()) -> None:
        self._substitutes = tuple(substitutes)
        self._found: dict[type, type] = {}

    def of(self, part: type[T]) -> type[T]:
        """Return the class to make a part of: `part` itself, unless a defect replaces it."""
        found = self._found.get(part)
        if found is None:
            found = self._found[part] = self._combined(part)
        return cast("type[T]", found)

    def _combined(self, part: type) -> type:
        own = [each for each in self._substitutes if issubclass(part, each.__bases__[0])]
        if not own:
            return part
        members: dict[str, Any] = {"__module__": part.__module__, "__slots__": ()}
        return type(part.__name__, (*own, part), members)


AS_BUILT: Final = PartTypes()
"""Every part as it is: no defects."""
