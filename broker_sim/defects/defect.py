"""The definition of a defect: a documented bug of brokers that a cluster can be made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Defect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One broken rule of brokers or of the controller, off by default.

    A file of `broker_sim.defects` holds one defect, with the substitutes that break the rule.
    """

    name: str
    lesson: str
    """The docstring of the defect's file: the cause, the effect that a client sees, and what avoids it."""
    source: str
    """The issue or report that documents the bug."""
    affected: str
    """The software and releases that had it."""
    anomalies: tuple[str, ...]
    """The ids of the scenarios that the defect is the cause of."""
    substitutes: tuple[type, ...]
    """Subclasses that take the place of their first base (see `broker_sim.part_types`)."""
    since: str = "0.8.0"
    """The first emulated release that has the rule which the defect breaks."""
    until: str = ""
    """The first emulated release in which the defect would have no effect."""
    needs_config: Mapping[str, str] = field(default_factory=dict)
    """The configurations without which the broken rule has no effect, by name."""
    needs_kraft: bool = False
    """True if the broken rule is one of the KRaft controller."""
