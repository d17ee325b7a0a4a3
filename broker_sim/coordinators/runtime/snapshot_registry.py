"""State that can be read as of an earlier offset, and reverted to it. Mirrors SnapshotRegistry and TimelineHashMap.

A snapshot holds no copy of the state: it collects, per dictionary, the values that later changes replace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from protocol_specs.java_hash import timeline_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SnapshotRegistry", "TimelineDict", "TimelineTable"]

K = TypeVar("K")
V = TypeVar("V")


class _Missing:
    """The value of a key that a dictionary did not have."""


_MISSING: Final = _Missing()


class _Snapshot:
    """The state at `offset`: for each dictionary that has changed since, the values replaced since."""

    __slots__ = ("offset", "replaced")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.replaced: dict[TimelineDict[Any, Any], dict[Any, Any]] = {}


class SnapshotRegistry:
    """The snapshots of one shard, by ascending offset."""

    def __init__(self) -> None:
        self.snapshots: list[_Snapshot] = []
        """For the dictionaries: changes add the values that they replace to the newest one."""

    @property
    def offsets(self) -> list[int]:
        """The offsets of the snapshots."""
        return [snapshot.offset for snapshot in self.snapshots]

    def snapshot(self, offset: int) -> None:
        """Take a snapshot at an offset; an existing one at the same offset stays.

        Raises:
            ValueError: A newer snapshot exists.
        """
        newest = self.snapshots[-1].offset if self.snapshots else -1
        if newest >= offset:
            if newest > offset:
                msg = f"a snapshot at {offset} is older than the one at {newest}"
                raise ValueError(msg)
            return
        self.snapshots.append(_Snapshot(offset))

    def delete_before(self, offset: int) -> None:
        """Delete the snapshots below an offset."""
        kept = 0
        while kept < len(self.snapshots) and self.snapshots[kept].offset < offset:
            kept += 1
        del self.snapshots[:kept]

    def advance_to(self, offset: int) -> None:
        """Take a snapshot at an offset after the latest one, and delete the others: everything before is committed."""
        if len(self.snapshots) == 1:
            [only] = self.snapshots
            # Most of the changes of a coordinator are committed within the call that makes them.
            only.offset = offset
            only.replaced.clear()
        else:
            self.snapshots = [_Snapshot(offset)]

    def revert_to(self, offset: int) -> None:
        """Restore the state at a snapshot, and delete the newer snapshots.

        Raises:
            ValueError: No snapshot has that offset.
        """
        if offset not in self.offsets:
            msg = f"no snapshot at {offset}: there are {self.offsets}"
            raise ValueError(msg)
        while True:
            snapshot = self.snapshots[-1]
            for timeline, replaced in snapshot.replaced.items():
                timeline.restore(replaced)
            snapshot.replaced = {}
            if snapshot.offset == offset:
                return
            self.snapshots.pop()

    def settle(self) -> None:
        """Make the changes since the newest snapshot part of it: they are read at its offset, and never reverted."""
        if self.snapshots:
            self.snapshots[-1].replaced = {}

    def replaced_since(self, timeline: TimelineDict[K, V], offset: int) -> Iterator[dict[K, V]]:
        """Iterate over the values of a dictionary that were replaced after `offset`, oldest first."""
        for snapshot in self.snapshots:
            if snapshot.offset >= offset:
                replaced = snapshot.replaced.get(timeline)
                if replaced is not None:
                    yield replaced


class TimelineDict(Generic[K, V]):
    """A dictionary in insertion order whose earlier states can be read by offset. Values must not change in place."""

    __slots__ = ("_current", "_registry", "get")

    get: Callable[[K], V | None]
    """Returns the newest value of a key, None if there is none."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._current: dict[K, V] = {}
        self.get = self._current.get

    def __getitem__(self, key: K) -> V:
        return self._current[key]

    def __contains__(self, key: object) -> bool:
        return key in self._current

    def __len__(self) -> int:
        return len(self._current)

    def __iter__(self) -> Iterator[K]:
        return iter(self._current)

    def get_at(self, key: K, offset: int) -> V | None:
        """Return the value at an offset, None if there was none."""
        for replaced in self._registry.replaced_since(self, offset):
            if key in replaced:
                value = replaced[key]
                return None if value is _MISSING else value
        return self._current.get(key)

    def keys(self) -> list[K]:
        """Return the newest keys."""
        return list(self._current)

    def values(self) -> list[V]:
        """Return the newest values."""
        return list(self._current.values())

    def items(self) -> list[tuple[K, V]]:
        """Return the newest keys and values."""
        return list(self._current.items())

    def at(self, offset: int) -> dict[K, V]:
        """Return the whole dictionary at an offset."""
        state = dict(self._current)
        for replaced in reversed(list(self._registry.replaced_since(self, offset))):
            _apply(state, replaced)
        return state

    def __setitem__(self, key: K, value: V) -> None:
        self._remember(key)
        self._current[key] = value

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value, None if there was none."""
        if key not in self._current:
            return None
        self._remember(key)
        return self._current.pop(key)

    def clear(self) -> None:
        """Remove all keys."""
        for key in list(self._current):
            self.pop(key)

    def restore(self, replaced: dict[K, V]) -> None:
        """Put replaced values back; for the registry."""
        _apply(self._current, replaced)

    def _remember(self, key: K) -> None:
        snapshots = self._registry.snapshots
        if snapshots:
            of_snapshot = snapshots[-1].replaced
            if self not in of_snapshot:
                of_snapshot[self] = {key: self._current.get(key, _MISSING)}
            elif key not in (replaced := of_snapshot[self]):
                replaced[key] = self._current.get(key, _MISSING)


class TimelineTable(TimelineDict[K, V]):
    """A TimelineDict that lists its keys in the order of Kafka's TimelineHashMap, which never shrinks."""

    __slots__ = ("_most",)

    def __init__(self, registry: SnapshotRegistry) -> None:
        super().__init__(registry)
        self._most = 0

    def __setitem__(self, key: K, value: V) -> None:
        # The table grows for one more key before it finds that it has this one already.
        current = self._current
        if len(current) >= self._most:
            self._most = len(current) + 1
        self._remember(key)
        current[key] = value

    def listed(self, hash_of: Callable[[K], int], offset: int | None = None) -> list[tuple[K, V]]:
        """Return keys and values, as of an offset if one is given; `hash_of` returns the hash of a key."""
        items = self.items() if offset is None else list(self.at(offset).items())
        order = timeline_order((hash_of(key) for key, _ in items), most=self._most)
        return [items[place] for place in order]


def _apply(state: dict[K, V], replaced: dict[K, V]) -> None:
    for key, value in replaced.items():
        if value is _MISSING:
            state.pop(key, None)
        else:
            state[key] = value
