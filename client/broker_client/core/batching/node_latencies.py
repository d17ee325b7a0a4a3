"""How long each node has not taken what was ready for it (KIP-794). Mirrors RecordAccumulator.NodeLatencyStats."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NodeLatencies"]


@dataclass(slots=True)
class _NodeLatency:
    drain_ms: int
    ready_ms: int


class NodeLatencies:
    """`availability_timeout_ms` is partitioner.availability.timeout.ms; with 0 no node is ever slow."""

    __slots__ = ("_nodes", "availability_timeout_ms")

    def __init__(self, availability_timeout_ms: int) -> None:
        self.availability_timeout_ms = availability_timeout_ms
        self._nodes: dict[int, _NodeLatency] = {}

    def update(self, node: int, now_ms: int, *, can_drain: bool) -> None:
        """Something was ready for the node, which took it or did not."""
        if self.availability_timeout_ms <= 0:
            return
        latency = self._nodes.setdefault(node, _NodeLatency(now_ms, now_ms))
        if can_drain:
            latency.drain_ms = now_ms
        latency.ready_ms = now_ms

    def is_slow(self, node: int) -> bool:
        """True if it has accepted nothing for longer than the time-out."""
        latency = self._nodes.get(node)
        return latency is not None and latency.ready_ms - latency.drain_ms > self.availability_timeout_ms
