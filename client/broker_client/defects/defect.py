"""One documented bug of a Kafka client, as substitutes for the parts of our cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Defect"]


@dataclass(slots=True, kw_only=True, frozen=True)
class Defect:
    """`parts` names fields of ProducerParts or ConsumerParts and the subclasses that replace their classes.

    `anomaly` is the name of the scenario that the bug explains, `source` the issue that reports it, `affected` the
    clients and releases that had it, and `text` the docstring of the module: what happens, and what ends it.
    """

    name: str
    anomaly: str
    source: str
    affected: str
    text: str | None
    parts: Mapping[str, type]
