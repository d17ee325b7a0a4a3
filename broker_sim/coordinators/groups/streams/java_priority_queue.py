"""A heap that returns equal elements in the order of Java's PriorityQueue, which decides between equal processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["JavaPriorityQueue"]

T = TypeVar("T")


class JavaPriorityQueue(Generic[T]):
    """The smallest element by `key` comes first. Python's heapq sifts another way, so that equal ones differ."""

    def __init__(self, key: Callable[[T], float], elements: Iterable[T] = ()) -> None:
        self._key = key
        self._heap: list[T] = []
        for element in elements:
            self.add(element)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: T) -> None:
        """Add an element."""
        heap, key = self._heap, self._key
        heap.append(element)
        place = len(heap) - 1
        while place > 0:
            parent = (place - 1) // 2
            if key(element) >= key(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = element

    def poll(self) -> T | None:
        """Remove and return the smallest element, None if there is none."""
        heap, key = self._heap, self._key
        if not heap:
            return None
        first, last = heap[0], heap.pop()
        if not heap:
            return first
        place, size = 0, len(heap)
        while place < size // 2:
            child = 2 * place + 1
            if child + 1 < size and key(heap[child]) > key(heap[child + 1]):
                child += 1
            if key(last) <= key(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first
