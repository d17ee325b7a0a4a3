"""One step of a schedule, and whether two steps can change places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TIME", "Step", "independent"]

TIME: Final = "let time move"
"""The step in which the next timer fires, where a crash is possible instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step: its `name` is unique among the possible ones, and equal in equal states. `message` describes it.

    `nodes` are the only nodes whose state it changes or reads; None if that can be any.
    """

    name: str
    message: str
    nodes: frozenset[str] | None
    take: Callable[[], object] | None
    """Takes the step; None lets time move."""


def independent(one: Step, other: Step) -> bool:
    """Return True if two steps lead to the same state in both orders, and neither makes the other impossible.

    Each node is a process of its own: two messages to different nodes change places. A crash and the passing of time
    depend on every step.
    """
    return one.nodes is not None and other.nodes is not None and one.nodes.isdisjoint(other.nodes)
