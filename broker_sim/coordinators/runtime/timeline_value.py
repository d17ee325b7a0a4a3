"""One value that can be read as of an earlier offset. Mirrors TimelineObject and TimelineInteger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["TimelineValue"]

V = TypeVar("V")


class TimelineValue(Generic[V]):
    """A value that starts as `initial` and reverts with the other state of its shard. It must not change in place."""

    __slots__ = ("_values",)

    def __init__(self, registry: SnapshotRegistry, initial: V) -> None:
        self._values: TimelineDict[None, V] = TimelineDict(registry)
        self._values[None] = initial

    def get(self) -> V:
        """Return the newest value."""
        return self._values[None]

    def get_at(self, offset: int) -> V:
        """Return the value at an offset."""
        return self._values.at(offset)[None]

    def set(self, value: V) -> None:
        """Replace the value."""
        self._values[None] = value
