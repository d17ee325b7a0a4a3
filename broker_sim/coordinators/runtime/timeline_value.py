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

    def get(self, offset: int | None = None) -> V:
        """Return the newest value, or that at an offset."""
        return self._values[None] if offset is None else self._values.at(offset)[None]

    def set(self, value: V) -> None:
        """Replace the value."""
        self._values[None] = value
