"""A close with a short time-out ends the producer without sending what is buffered, and without an outcome for it.

With linger.ms above 0 or a slow broker the last records are in the buffer when the application closes its producer.
They are neither sent nor failed: their futures stay open, and no callback runs. A correct client sends them within
the time-out of close and fails the rest; an application that must not lose them flushes first.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect


class ForgettingSender(Sender):
    """Leaves buffered batches as they are when the producer is closed."""

    def abort(self) -> None:
        """Free the memory; end nothing."""
        for batch in self.accumulator.incomplete_batches():
            self.accumulator.deallocate(batch)


DEFECT: Final = Defect(
    name="close-forgets-buffer",
    lesson=__doc__,
    source="kafka-python#2537",
    affected="kafka-python before 2.1.0",
    anomalies=("close-drops-buffer",),
    parts={"sender": ForgettingSender},
)
