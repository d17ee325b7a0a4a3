"""Exactly-once writes of a stream, one transaction per task and micro-batch (epoch).

A transaction has the rows of a task, and the number of its epoch as a committed offset of a group of the task's own:
the two are stored together or not at all. A task first fences earlier attempts by its transactional.id, which also ends
their open transactions; then it reads the offset. If its epoch is committed, it writes nothing.

A replayed epoch must give each task the rows that it had. Spark replays the same offsets, and the source of this
package divides the same offsets in the same way; a shuffle before the sink must keep its number of partitions. The
tasks of an epoch are not one transaction: a reader may see the rows of one task before those of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client import Consumer, OffsetAndMetadata, Producer, TopicPartition
from broker_scenarios.spark.connector.topic_offsets import client_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["write_epoch"]


def write_epoch(
    configs: Mapping[str, str], topic: str, *, writer: str, epoch: int, send: Callable[[Producer], int]
) -> int:
    """Write an epoch of a task in a transaction, unless it is committed; return the number of rows that were written.

    `writer` names the task: it is the transactional.id and the group.id. `send` sends all rows and waits for them.

    Raises:
        ProducerError: the transaction was not committed; nothing of it can be read with read_committed.
    """
    place = TopicPartition(topic, 0)
    with Producer({**configs, "transactional.id": writer}) as producer:
        producer.init_transactions()
        if _next_epoch(configs, writer, place) > epoch:
            return 0
        producer.begin_transaction()
        try:
            rows = send(producer)
            producer.send_offsets_to_transaction({place: OffsetAndMetadata(offset=epoch + 1)}, writer)
        except BaseException:
            producer.abort_transaction()
            raise
        producer.commit_transaction()
    return rows


def _next_epoch(configs: Mapping[str, str], group: str, place: TopicPartition) -> int:
    """Return the epoch after the last one that is committed, 0 if there is none."""
    with Consumer(**client_configs(configs), group_id=group, isolation_level="read_committed") as consumer:
        consumer.assign([place])
        found = consumer.committed([place])[place]
    return 0 if found is None else found.offset
