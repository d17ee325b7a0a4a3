"""What a leader says of an ISR to whoever asks the controller for it, and hears of it.

All that goes over the links are the protocol's own messages: AlterPartition (56) is made of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrProposal:
    """One partition of an AlterPartition: the ISR that its leader wants, each member with its broker epoch."""

    topic_partition: TopicPartition
    topic_id: bytes
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[tuple[int, int], ...]


@dataclass(slots=True, kw_only=True)
class AlteredPartition:
    """What became of a proposal; the rest counts with error NONE alone."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1
