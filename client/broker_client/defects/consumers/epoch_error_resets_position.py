"""A transient leader epoch error makes the consumer choose a new position by auto.offset.reset.

FENCED_LEADER_EPOCH (74) and UNKNOWN_LEADER_EPOCH (75) state that client and broker know different leaders; they pass
with the next metadata. A client that treats them as OFFSET_OUT_OF_RANGE resets the position: with `latest` it skips
what it has not read, with `earliest` it reads everything again. A correct client refreshes its metadata and fetches
again (KIP-320).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.consumer.fetch_buffer import FetchBuffer
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode

_EPOCH_ERRORS: Final = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import FetchPosition
    from broker_client.records import TopicPartition


class ResettingBuffer(FetchBuffer):
    """Takes an epoch error for an offset that is out of range."""

    def _handle_error(self, key: TopicPartition, position: FetchPosition, code: ErrorCode) -> None:
        if code in _EPOCH_ERRORS:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        super()._handle_error(key, position, code)


DEFECT: Final = Defect(
    name="epoch-error-resets-position",
    lesson=__doc__,
    source="librdkafka#4293",
    affected="librdkafka before 2.2.0, for errors during the validation of a position",
    anomalies=("reset-skips",),
    parts={"fetch_buffer": ResettingBuffer},
)
