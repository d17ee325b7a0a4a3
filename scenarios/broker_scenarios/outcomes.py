"""Was it stored, was it not, or does nobody know: the class of a send that did not end in an acknowledgement.

Most wrong verdicts come from calling an indefinite error a failure. An error is definite only when it is the
answer to the first attempt that could have stored the record, and the broker gives it before it appends.
Not among them, though they look it: NOT_LEADER_OR_FOLLOWER (6) can follow an append (KAFKA-13574),
REQUEST_TIMED_OUT (7) is set before the wait for the replicas, NOT_ENOUGH_REPLICAS_AFTER_APPEND (20) says so
in its name, and a delivery time-out of a batch that was ever written to a socket says nothing.
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
        ErrorCode.INVALID_RECORD,
    )
)
"""Codes that a broker answers before it appends anything."""


def completion_of(error_code: int | None, *, maybe_written: bool, answered: bool) -> EventType:
    """Class a send that ended in an error.

    `maybe_written`: an attempt of its batch may have been stored (it was cut off, or refused after the append).
    `answered`: the error is a broker's answer, not one of the client's own. A record that never left (expired in
    the accumulator, buffer exhausted, serialisation) has certainly failed; so has one whose only attempt was
    refused before the append. All else is `info`, whatever the last answer was.
    """
    if maybe_written or (answered and error_code not in DEFINITE_ERRORS):
        return EventType.INFO
    return EventType.FAIL
