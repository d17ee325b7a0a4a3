"""The classes of which a producer's core is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.core.client_parts import NetworkParts
from broker_client.core.producer.pending_sends import PendingSends
from broker_client.core.producer.sender import Sender
from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.core.transactions.transaction_manager import TransactionManager

__all__ = ["PRODUCER_PARTS", "ProducerParts"]


@dataclass(slots=True, kw_only=True, frozen=True)
class ProducerParts(NetworkParts):
    """The parts of a producer."""

    accumulator: type[RecordAccumulator] = RecordAccumulator
    buffer_pool: type[BufferPool] = BufferPool
    pending_sends: type[PendingSends] = PendingSends
    producer_id_state: type[ProducerIdState] = ProducerIdState
    sender: type[Sender] = Sender
    transaction_manager: type[TransactionManager] = TransactionManager


PRODUCER_PARTS: Final = ProducerParts()
