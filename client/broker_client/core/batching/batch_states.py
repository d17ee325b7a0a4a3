"""The states of a producer's batch from its first record to its end. Mirrors the flags and FinalState of ProducerBatch.

OPEN: accepts records, in its partition's queue. CLOSED: accepts no more records; it waits in its queue for its first
attempt or for the next one. IN_FLIGHT: a request carries it. SUCCEEDED, FAILED and ABORTED are final: the broker's
response, an error or delivery.timeout.ms, and a close or an aborted transaction have ended it. FAILED_IN_FLIGHT and
ABORTED_IN_FLIGHT: it has ended, and its request has not; its memory stays allocated until then (KAFKA-19012).

A response that arrives after a failure or an abort changes nothing. Any event after a success is a bug.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BATCH_STATES", "BatchState", "BatchStep"]


class BatchState(IntEnum):
    """See the module. As IntEnum, because the hash of a plain Enum takes most of the time of a transition."""

    OPEN = auto()
    CLOSED = auto()
    IN_FLIGHT = auto()
    SUCCEEDED = auto()
    FAILED = auto()
    ABORTED = auto()
    FAILED_IN_FLIGHT = auto()
    ABORTED_IN_FLIGHT = auto()


class BatchStep(IntEnum):
    """The events of a batch."""

    CLOSE = auto()
    """It is full, or is sent before it is."""
    DRAIN = auto()
    """The Sender takes it out of its queue for a request."""
    REQUEST_END = auto()
    """Its request has a response, or will never have one."""
    RETRY = auto()
    """It goes back to its queue after a failed attempt."""
    SUCCEED = auto()
    FAIL = auto()
    ABORT = auto()


_S = BatchState
_E = BatchStep

_TRANSITIONS: Final[Mapping[tuple[BatchState, BatchStep], BatchState]] = {
    (_S.OPEN, _E.CLOSE): _S.CLOSED,
    (_S.OPEN, _E.FAIL): _S.FAILED,
    (_S.OPEN, _E.ABORT): _S.ABORTED,
    (_S.CLOSED, _E.DRAIN): _S.IN_FLIGHT,
    (_S.CLOSED, _E.RETRY): _S.CLOSED,
    (_S.CLOSED, _E.SUCCEED): _S.SUCCEEDED,
    (_S.CLOSED, _E.FAIL): _S.FAILED,
    (_S.CLOSED, _E.ABORT): _S.ABORTED,
    (_S.IN_FLIGHT, _E.REQUEST_END): _S.CLOSED,
    (_S.IN_FLIGHT, _E.FAIL): _S.FAILED_IN_FLIGHT,
    (_S.IN_FLIGHT, _E.ABORT): _S.ABORTED_IN_FLIGHT,
    (_S.FAILED_IN_FLIGHT, _E.REQUEST_END): _S.FAILED,
    (_S.ABORTED_IN_FLIGHT, _E.REQUEST_END): _S.ABORTED,
    (_S.FAILED, _E.SUCCEED): _S.FAILED,
    (_S.FAILED, _E.FAIL): _S.FAILED,
    (_S.ABORTED, _E.SUCCEED): _S.ABORTED,
    (_S.ABORTED, _E.FAIL): _S.ABORTED,
}

BATCH_STATES: Final = StateTable("ProducerBatch", _TRANSITIONS)
