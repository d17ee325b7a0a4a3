"""Classification of failed sends: certainly not stored (`fail`) or outcome unknown (`info`).

Most wrong verdicts come from a definite class for an indefinite error. An error is definite only if the broker returns
it to the first attempt that could have stored the record, and before it appends (`REFUSED_BEFORE_APPEND`). A delivery
timeout of a batch that was written to a socket at least once proves nothing.
"""

from __future__ import annotations

from broker_scenarios.history import EventType
from protocol_specs.error_codes import REFUSED_BEFORE_APPEND

__all__ = ["completion_of"]


def completion_of(error_code: int | None, *, maybe_written: bool, from_broker: bool) -> EventType:
    """Return the class of a send that ended in an error.

    `maybe_written`: an attempt of its batch may have been stored (its connection closed before the response, or the
    broker refused it after the append). `from_broker`: the error code comes from a broker's response and not from the
    client. A record that never left the client (expired in the accumulator, buffer exhausted, serialization) has
    certainly failed, and so has a record whose only attempt was refused before the append. Every other record is
    `info`, independent of the last response.
    """
    if maybe_written or (from_broker and error_code not in REFUSED_BEFORE_APPEND):
        return EventType.INFO
    return EventType.FAIL
