"""Reads a range of offsets inside a task: Arrow tables from the column reader of the consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc
from twisted.python.runtime import seconds

from broker_client import TopicPartition
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.topic_offsets import reading_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_scenarios.spark.connector.ranges import OffsetRange

__all__ = ["read_range"]

_POLL_S: Final = 0.2
"""A range may end with control records, for which a poll returns nothing at the end of its time."""


def read_range(
    part: OffsetRange, consumer: Mapping[str, str], *, fail_on_data_loss: bool, poll_timeout_s: float
) -> Iterator[Any]:
    """Yield the records of a range as tables with the columns of Consumer.poll_batch, in the order of the offsets.

    Raises:
        ScenarioError: the log has moved no further for `poll_timeout_s` seconds.
        ProducerError: the cluster cannot be read; with `fail_on_data_loss` also if retention has removed records.
    """
    key = TopicPartition(part.topic, part.partition)
    reset = "none" if fail_on_data_loss else "earliest"
    with reading_client(consumer, **{"auto.offset.reset": reset}) as client:
        client.assign([key])
        client.seek(key, part.start)
        position, progress_s = part.start, seconds()
        while position < part.end:
            table = client.poll_batch(_POLL_S)
            after = client.position(key)
            if after == position and not table.num_rows:
                if seconds() - progress_s > poll_timeout_s:
                    raise ScenarioError(
                        f"{key}: nothing was read from offset {position} to {part.end} within {poll_timeout_s:g} s "
                        "(kafkaConsumer.pollTimeoutMs)"
                    )
                continue
            position, progress_s = after, seconds()
            if table.num_rows:
                offsets = table["offset"]
                yield table.filter(pc.and_(pc.greater_equal(offsets, part.start), pc.less(offsets, part.end)))
