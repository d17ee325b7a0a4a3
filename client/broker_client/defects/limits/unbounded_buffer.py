"""The buffer of unsent records has no limit: while brokers do not respond, memory grows with every send.

The client accepts each record at once. Nothing slows the application down, which learns of the outage minutes later,
by time-outs or by the end of its memory. A correct client has a limit (buffer.memory) and lets send wait for room, at
most max.block.ms.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.defects.defect import Defect


class UnboundedPool(BufferPool):
    """Grants any size; its available bytes become negative."""

    def try_allocate(self, size_bytes: int) -> bool:
        """Grant it."""
        with self._lock:
            self._non_pooled_bytes -= size_bytes
        return True


DEFECT: Final = Defect(
    name="unbounded-buffer",
    lesson=__doc__,
    source="kafka-python#2580; franz-go, changelog of 1.21",
    affected="kafka-python from 2.1, franz-go before 1.21",
    anomalies=("unbounded-client-queue",),
    parts={"buffer_pool": UnboundedPool},
)
