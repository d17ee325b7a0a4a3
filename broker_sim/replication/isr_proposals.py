"""A leader's ISR proposal and its result, apart from the versions of AlterPartition (56) that carry them."""

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
    """The result of a proposal; the other fields are valid with error NONE alone."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1
