"""The errors of positions of a consumer. Mirrors NoOffsetForPartitionException and LogTruncationException."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import BrokerError, ProducerError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.records import TopicPartition

__all__ = ["LogTruncated", "NoOffsetForPartition"]


class NoOffsetForPartition(ProducerError):
    """A partition has no position, and auto.offset.reset=none chooses none."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(partition)
        self.partition = partition

    def __str__(self) -> str:
        return f"{self.partition} has no position: seek, or set auto.offset.reset to earliest or latest"


class LogTruncated(BrokerError):
    """Records that were read are no longer in the log after an unclean election; auto.offset.reset is none (KIP-320).

    `divergent_offset` is the offset at which the logs differ, None if the leader does not know it; seek there to
    continue.
    """

    def __init__(self, partition: TopicPartition, position: int, divergent_offset: int | None) -> None:
        where = "at an offset that is unknown" if divergent_offset is None else f"at offset {divergent_offset}"
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"the log of {partition} was truncated below position {position}: it diverges {where}; "
            "auto.offset.reset would choose another",
        )
        self.args = (partition, position, divergent_offset)
        self.partition = partition
        self.position = position
        self.divergent_offset = divergent_offset
