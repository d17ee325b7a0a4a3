"""One documented bug of a Kafka client, as substitutes for the parts of our cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Defect"]


@dataclass(slots=True, kw_only=True, frozen=True)
class Defect:
    """One rule of clients that is broken, off by default: `parts` names fields of ProducerParts or ConsumerParts.

    The class of each part is replaced by a subclass.
    """

    name: str
    lesson: str
    """The docstring of the defect's file: the cause, the effect that an application sees, and what avoids it."""
    source: str
    """The issue that documents the bug."""
    affected: str
    """The clients and releases that had it."""
    anomalies: tuple[str, ...]
    """The ids of the scenarios that the defect is the cause of."""
    parts: Mapping[str, type]
