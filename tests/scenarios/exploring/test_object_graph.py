from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.exploring.object_graph import ObjectGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator


class Colour(Enum):
    RED = 1
    BLUE = 2


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left: object, right: object) -> None:
        self.left = left
        self.right = right


@dataclass(slots=True)
class Node:
    value: object
    waiting: dict[int, str] = field(default_factory=dict)
    number: int = 0
    next: Node | None = None


class Clock:
    """Left out."""

    def __init__(self, now: int) -> None:
        self.now = now


def graph() -> ObjectGraph:
    return ObjectGraph(
        left_out=lambda cls: cls is Clock,
        fields_left_out={"Node": ("number",)},
        fields_in_any_order={"Node": ("waiting",)},
    )


def digest(*roots: object) -> str:
    return graph().digest(roots)


def adder(captured: object) -> Callable[[], object]:
    return lambda: captured


def counted(values: list[int]) -> Iterator[int]:
    yield from values


async def waits(value: int, steps: Iterator[int]) -> int:
    for step in steps:
        value += step
    return value


def ring(value: object) -> Node:
    first = Node(value)
    first.next = Node("second", next=first)
    return first


DIFFERENT = {
    "numbers": (1, 2),
    "texts": ("a", "b"),
    "a number and a text": (1, "1"),
    "lists": ([1, 2], [2, 1]),
    "queues": (deque([1]), deque([2])),
    "nesting": ([[1], 2], [[1, 2]]),
    "mappings": ({"a": 1}, {"a": 2}),
    "the order of a mapping": ({1: 1, 2: 2}, {2: 2, 1: 1}),
    "sets": ({1}, {2}),
    "enumerations": (Colour.RED, Colour.BLUE),
    "slots": (Slotted(1, 2), Slotted(2, 1)),
    "an unset slot": (Slotted.__new__(Slotted), Slotted(None, None)),
    "fields": (Node(1), Node(2)),
    "cycles": (ring(1), ring(2)),
    "captured values": (adder(1), adder(2)),
    "functions": (len, max),
    "methods": (Node(1).__init__, Node(2).__init__),
    "partial arguments": (partial(print, 1), partial(print, 2)),
    "random streams": (random.Random(1), random.Random(2)),
    "iterators": (iter([1, 2]), iter([2])),
    "errors": (ValueError("a"), ValueError("b")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_has_another_digest(name: str) -> None:
    one, other = DIFFERENT[name]
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


def test_equal_graphs_have_equal_digests() -> None:
    assert digest(ring([1, {"a": (2,)}])) == digest(ring([1, {"a": (2,)}]))
    assert digest({3, 1, 2}) == digest({2, 3, 1})


def test_one_object_differs_from_two_equal_ones_but_a_tuple_counts_by_its_value() -> None:
    one = [1]
    assert digest([one, one]) != digest([[1], [1]])
    pair = (1, 2)
    assert digest([pair, pair]) == digest([(1, 2), tuple([1, 2])])  # noqa: C409


def test_what_is_left_out_does_not_count() -> None:
    assert digest(Node(Clock(1), number=1)) == digest(Node(Clock(2), number=2))
    assert digest(Node(1, {1: "a", 2: "b"})) == digest(Node(1, {2: "b", 1: "a"}))
    assert digest(Node(1, {1: "a"})) != digest(Node(1, {1: "b"}))


def test_the_position_and_the_variables_of_a_coroutine_count() -> None:
    values = [1, 2, 3]
    one, other = counted(values), counted(values)
    assert digest(one) == digest(other)
    next(one)
    assert digest(one) != digest(other)
    next(other)
    assert digest(one) == digest(other)
    first: Coroutine[Any, Any, int] = waits(1, iter([]))
    second: Coroutine[Any, Any, int] = waits(2, iter([]))
    assert digest(first) != digest(second)
    first.close()
    second.close()


def test_an_object_without_known_contents_is_refused() -> None:
    with pytest.raises(TypeError, match=r"builtins\.frame_locals|object has no known contents|builtins\.object"):
        digest(object())
    with pytest.raises(TypeError, match="a collection without an order has a Slotted"):
        digest({Slotted(1, 2)})
