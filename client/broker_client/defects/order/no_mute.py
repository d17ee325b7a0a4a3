"""A batch overtakes the one before it on another connection, although max.in.flight.requests.per.connection is 1.

That limit counts requests on one connection. While a batch waits for its response from the old leader, the partition
moves, and the next batch goes to the new leader on a connection of its own. When the first one fails and is retried, it
is stored behind the second. A correct client drains no batch of a partition that has one in flight: Java's accumulator
mutes the partition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.producer.sender import Sender
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.producer.sender import SenderConfig


class NoMuteSender(Sender):
    """Drains a partition whenever its leader's connection has room."""

    def __init__(self, *, config: SenderConfig, **collaborators: Any) -> None:
        super().__init__(config=replace(config, guarantee_message_order=False), **collaborators)


DEFECT: Final = Defect(
    name="no-mute",
    anomalies=("leader-move-reorder-inflight1",),
    source="KAFKA-3197; aiokafka#228; kafka-python#595",
    affected="Java before 0.10, aiokafka before 0.5.0; kafka-python",
    lesson=__doc__,
    parts={"sender": NoMuteSender},
)
