"""Classification of failed sends: certainly not stored (`fail`) or outcome unknown (`info`).

Most wrong verdicts come from a definite class for an indefinite error. An error is definite only if the broker returns
it to the first attempt that could have stored the record, and before it appends. Not among the definite codes, although
they look definite: NOT_LEADER_OR_FOLLOWER (6) can follow an append (KAFKA-13574), the broker sets REQUEST_TIMED_OUT (7)
before it waits for the replicas, NOT_ENOUGH_REPLICAS_AFTER_APPEND (20) follows an append by definition, and a delivery
timeout of a batch that was written to a socket at least once proves nothing.
"""

from __future__ import annotations

from typing import Final

from broker_scenarios.history import EventType
from protocol_specs.error_codes import ErrorCode

__all__ = ["DEFINITE_ERRORS", "completion_of"]

DEFINITE_ERRORS: Final = frozenset(
    int(code)
    for code in (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
    )
)
"""Codes with which a broker refuses a batch before it appends any of its records."""


def completion_of(error_code: int | None, *, maybe_written: bool, from_broker: bool) -> EventType:
    """Return the class of a send that ended in an error.

    `maybe_written`: an attempt of its batch may have been stored (its connection closed before the response, or the
    broker refused it after the append). `from_broker`: the error code comes from a broker's response and not from the
    client. A record that never left the client (expired in the accumulator, buffer exhausted, serialization) has
    certainly failed, and so has a record whose only attempt was refused before the append. Every other record is
    `info`, independent of the last response.
    """
    if maybe_written or (from_broker and error_code not in DEFINITE_ERRORS):
        return EventType.INFO
    return EventType.FAIL
