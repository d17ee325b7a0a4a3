"""A producer as requests and results of the transaction coordinator name it. Mirrors ProducerIdAndEpoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from protocol_specs.error_codes import ErrorCode

__all__ = ["NO_EPOCH", "NO_PRODUCER_ID", "ProducerIdAndEpoch", "ProducerResult"]

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1


class ProducerIdAndEpoch(NamedTuple):
    """One incarnation of a producer."""

    producer_id: int
    producer_epoch: int


class ProducerResult(NamedTuple):
    """The result of an operation for its producer; -1 stands for no id and no epoch."""

    error_code: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
