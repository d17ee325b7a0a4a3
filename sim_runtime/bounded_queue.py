"""A first-in first-out queue with a named limit. Mirrors RequestChannel's ArrayBlockingQueue (queued.max.requests)."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred

from sim_runtime.errors import SimRuntimeError

__all__ = ["BoundedQueue", "QueueFull"]

T = TypeVar("T")


class QueueFull(SimRuntimeError):
    """A queue is at its limit. `option` names the setting that raises it."""

    def __init__(self, queue: str, limit: int, option: str) -> None:
        super().__init__(queue, limit, option)
        self.queue = queue
        self.limit = limit
        self.option = option

    def __str__(self) -> str:
        return f"{self.queue} is full: it holds {self.limit}; {self.option} allows more"


class BoundedQueue(Generic[T]):
    """Items wait here at most `limit` at a time; an item that somebody already waits for is handed over at once."""

    __slots__ = ("_getters", "_items", "limit", "name", "option", "peak")

    def __init__(self, name: str, limit: int, option: str | None = None) -> None:
        if limit < 1:
            raise ValueError(f"the limit of {name} must be at least 1, not {limit}")
        self.name = name
        self.limit = limit
        self.option = option or f"the limit of {name}"
        self.peak = 0
        self._items: deque[T] = deque()
        self._getters: dict[Deferred[T], None] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def full(self) -> bool:
        """Whether the next put would be refused."""
        return len(self._items) >= self.limit

    def put(self, item: T) -> None:
        """Append `item`; raises QueueFull."""
        if not self.try_put(item):
            raise QueueFull(self.name, self.limit, self.option)

    def try_put(self, item: T) -> bool:
        """Append `item`; False when the queue is full."""
        if self._getters:
            getter = next(iter(self._getters))
            del self._getters[getter]
            getter.callback(item)
            return True
        size = len(self._items)
        if size >= self.limit:
            return False
        self._items.append(item)
        if size >= self.peak:
            self.peak = size + 1
        return True

    def get(self) -> Deferred[T]:
        """The oldest item, now or when it comes; waiting getters are served in their order and may be cancelled."""
        getter: Deferred[T] = Deferred(self._forget)
        if self._items:
            getter.callback(self._items.popleft())
        else:
            self._getters[getter] = None
        return getter

    def take(self) -> T:
        """The oldest item; raises IndexError when there is none."""
        return self._items.popleft()

    def drain(self) -> list[T]:
        """Take all items."""
        items = list(self._items)
        self._items.clear()
        return items

    def _forget(self, getter: Deferred[T]) -> None:
        self._getters.pop(getter, None)
