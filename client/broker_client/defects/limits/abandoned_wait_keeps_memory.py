"""A send that gives up its wait for buffer memory stays in the queue, and memory that comes to it is lost.

The buffer is full, a send waits for room and is cancelled or times out. When brokers respond and memory is freed, it
goes to the first waiter, which no call uses any more. All later sends wait behind it, at a full limit, though no
record is under way. A correct client takes the waiter out of the queue and passes its memory on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.batching.buffer_pool import BufferPool, WaiterState
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.buffer_pool import MemoryWaiter


class LeakingPool(BufferPool):
    """Leaves abandoned waiters in its queue."""

    def abandon(self, waiter: MemoryWaiter) -> bool:
        """End the wait of the caller alone."""
        return waiter.state is WaiterState.WAITING


DEFECT: Final = Defect(
    name="abandoned-wait-keeps-memory",
    lesson=__doc__,
    source="franz-go, changelog of 1.17.1",
    affected="franz-go before 1.17.1",
    anomalies=("deadlock-at-max-buffered",),
    parts={"buffer_pool": LeakingPool},
)
