"""How well a topic's records compress: decides when a compressed batch counts as full.

Mirrors CompressionRatioEstimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from protocol_specs.records.compression import CompressionCodec

__all__ = ["CompressionRatioEstimator"]

INITIAL_RATIO: Final = 1.0
IMPROVING_STEP: Final = 0.005
DETERIORATE_STEP: Final = 0.05


class CompressionRatioEstimator:
    """Estimates per topic and codec: a worse batch is believed at once, a better one by small steps."""

    __slots__ = ("_ratios",)

    def __init__(self) -> None:
        self._ratios: dict[tuple[str, CompressionCodec], float] = {}

    def estimation(self, topic: str, codec: CompressionCodec) -> float:
        """Compressed bytes per uncompressed byte."""
        return self._ratios.get((topic, codec), INITIAL_RATIO)

    def update(self, topic: str, codec: CompressionCodec, observed: float) -> float:
        """Learn from a closed batch and return the new estimate."""
        current = self.estimation(topic, codec)
        if observed > current:
            current = max(current + DETERIORATE_STEP, observed)
        elif observed < current:
            current = max(current - IMPROVING_STEP, observed)
        self._ratios[topic, codec] = current
        return current

    def set(self, topic: str, codec: CompressionCodec, ratio: float) -> None:
        """Start over from `ratio`, after a batch was too large for the broker."""
        self._ratios[topic, codec] = ratio
