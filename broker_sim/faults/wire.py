"""Faults between two ends of the network: nodes of the cluster, and clients by the pattern of their client id.

Between nodes they apply to the links that carry messages; between a client and a node to its connections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sim_runtime.wire_shaping import Impairment

__all__ = ["Ends", "WireFault", "WireTarget"]


@dataclass(frozen=True, slots=True)
class Ends:
    """One side of a fault."""

    nodes: tuple[int, ...] = ()
    clients: tuple[str, ...] = ()
    """Patterns of client ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault:
    """Impairments of what `sources` send to `targets`, and with `both_ways` of what they receive.

    A connection is chosen with the probability `share`. Links between nodes have cuts and the impairments of time;
    others, such as slices, change nothing for messages.
    """

    sources: Ends
    targets: Ends
    impairments: tuple[Impairment, ...]
    random: Random
    both_ways: bool = False
    share: float = 1


class WireTarget(Protocol):
    """The network of a cluster."""

    @property
    def controllers(self) -> tuple[int, ...]:
        """The nodes under which links reach the controllers."""

    def begin(self, fault: WireFault) -> Callable[[], None]:
        """Begin a fault; returns the function that ends it."""

    def refuse(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Refuse new connections to nodes; returns the function that ends it."""

    def close_accepted(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Close new connections to nodes at once; returns the function that ends it."""

    def hold_accepts(self, nodes: tuple[int, ...], size: int, accept_every_ms: float | None) -> Callable[[], None]:
        """Leave new connections in a queue of `size`; returns the function that ends it."""

    def close_connections(self, nodes: tuple[int, ...], client: str) -> int:
        """Close the open connections to nodes of the clients that fit a pattern; returns their number."""
