"""State machines as tables: state x event -> state. The table only decides; its owner acts."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["IllegalTransition", "StateTable"]

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class IllegalTransition(SimRuntimeError):
    """An event that the state of a machine does not allow: a defect of the simulator, never of a peer."""

    def __init__(self, machine: str, state: Enum, event: Enum, allowed: tuple[Enum, ...]) -> None:
        super().__init__(machine, state, event, allowed)
        self.machine = machine
        self.state = state
        self.event = event
        self.allowed = allowed

    def __str__(self) -> str:
        allowed = ", ".join(event.name for event in self.allowed) or "no event"
        return f"{self.machine} in state {self.state.name} does not take {self.event.name}; it takes {allowed}"


class StateTable(Generic[S, E]):
    """One machine's transitions; a pair that is missing is illegal."""

    __slots__ = ("machine_name", "transitions")

    def __init__(self, machine_name: str, transitions: Mapping[tuple[S, E], S]) -> None:
        self.machine_name = machine_name
        self.transitions: Mapping[tuple[S, E], S] = MappingProxyType(dict(transitions))

    def next(self, state: S, event: E) -> S:
        """The state after `event`; raises IllegalTransition."""
        try:
            return self.transitions[state, event]
        except KeyError:
            raise IllegalTransition(self.machine_name, state, event, self.allowed(state)) from None

    def allows(self, state: S, event: E) -> bool:
        """True if the table has the pair; checked before a peer's event becomes a wire error."""
        return (state, event) in self.transitions

    def allowed(self, state: S) -> tuple[E, ...]:
        """The events that `state` allows, in the table's order."""
        return tuple(event for known, event in self.transitions if known is state)
