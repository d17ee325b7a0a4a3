"""A broker that reads nothing stops the sends to all brokers.

Writes to sockets block. When one broker's receive window is full, the thread that serves all connections waits in its
write: no other partition is sent to, no response is read, no time-out fires. A correct client writes only where there
is room, and waits for all of its sockets at once.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

NEVER_MS: Final = 1 << 62


class BlockingSender(Sender):
    """Waits for each write before anything else."""

    def run_once(self, now_ms: int) -> int:
        """Run unless a write has room for a part of its bytes alone."""
        selector = self.client.selector
        for node_id, channel in selector._channels.items():  # noqa: SLF001
            if channel.send_pending:
                selector.await_write(node_id)
                return NEVER_MS
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="writes-block-the-sender",
    lesson=__doc__,
    source="kafka-python#1912; kafka-python#1281",
    affected="kafka-python before 1.4.7",
    anomalies=("slow-socket-starved-sender",),
    parts={"sender": BlockingSender},
)
