"""The reasons to wait before an append: KafkaProducer.send blocks for these two, at most max.block.ms in all."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["WaitFor"]


class WaitFor(Enum):
    """The resource that is missing."""

    METADATA = auto()
    MEMORY = auto()
