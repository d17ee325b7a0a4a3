"""A flush in a delivery callback stops the producer: its I/O thread waits for itself.

Callbacks run on the thread that sends. A flush, a close or a send that waits for memory there waits for batches which
only that thread can complete. All partitions stand still, and no time-out fires, because time-outs are the thread's
work, too. A correct client recognises the call and refuses it, or runs callbacks elsewhere; ours runs it as a
coroutine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

NEVER_MS: Final = 1 << 62

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch


class BlockingFlush(RecordAccumulator):
    """Notes a flush that begins in an iteration of the Sender."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self.is_in_iteration = False
        self.flushes_in_callbacks = 0

    def begin_flush(self) -> list[ProducerBatch]:
        """Block the Sender if it is the caller, until `end_flush`."""
        if self.is_in_iteration and self._incomplete:
            self.flushes_in_callbacks += 1
        return super().begin_flush()


class BlockedSender(Sender):
    """Does nothing while a callback waits for a flush."""

    def run_once(self, now_ms: int) -> int:
        """Run unless the thread waits."""
        accumulator = self.accumulator
        assert isinstance(accumulator, BlockingFlush), "the defect replaces both"
        if accumulator.flushes_in_callbacks:
            return NEVER_MS
        accumulator.is_in_iteration = True
        try:
            return super().run_once(now_ms)
        finally:
            accumulator.is_in_iteration = False


DEFECT: Final = Defect(
    name="flush-in-callback-blocks",
    lesson=__doc__,
    source="KAFKA-10790; apache/kafka#9707",
    affected="Java before 4.1",
    anomalies=("callback-deadlock",),
    parts={"accumulator": BlockingFlush, "sender": BlockedSender},
)
