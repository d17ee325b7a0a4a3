"""What keeps a record from being appended: KafkaProducer.send blocks for these two, at most max.block.ms in all."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["WaitFor"]


class WaitFor(Enum):
    """What has to come first."""

    METADATA = auto()
    MEMORY = auto()
