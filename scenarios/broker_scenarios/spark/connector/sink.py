"""The sink: writes the rows of tasks with the columnar producer, and reports errors as errors of the task.

At least once: a task that is run again writes its rows again. The producer is idempotent (enable.idempotence), so that
its own retries write no record twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.options import DeliveryGuarantee
from broker_scenarios.spark.connector.record_columns import check_columns, tables_by_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from broker_client import Producer
    from broker_scenarios.spark.connector.options import SinkOptions

__all__ = ["RowsWritten", "TopicStreamWriter", "TopicWriter"]

_TABLES_OPEN_MAX: Final = 8
"""The tables of a task that are sent and not acknowledged; each has the rows of one batch of Spark."""
_EPOCH: Final = "streaming.sql.batchId"
_QUERY: Final = "sql.streaming.queryId"
"""Local properties of Spark's tasks; the id of a query is in its checkpoint."""


@dataclass(frozen=True)
class RowsWritten(WriterCommitMessage):  # type: ignore[misc]
    """The report of a task."""

    rows: int


class TopicWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes a DataFrame."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, "the DataFrame", topic=options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsWritten:
        """Write the rows of a task.

        Raises:
            ScenarioError: a row cannot be sent, or was not acknowledged.
        """
        return RowsWritten(_write(iterator, self._options))


class TopicStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the micro-batches of a stream, with transactions for exactly-once (see `epochs`)."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, "the DataFrame", topic=options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsWritten:
        """Write the rows of a task of a micro-batch.

        Raises:
            ScenarioError: a row cannot be sent, or was not acknowledged.
        """
        options = self._options
        if options.guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
            return RowsWritten(_write(iterator, options))
        # Processes of Spark that do not write have no need of a client, whose import takes most of their time.
        from broker_scenarios.spark.connector.epochs import write_epoch

        context = TaskContext.get()
        assert context is not None, "a task has a context"
        assert options.topic is not None, "exactly-once was refused without a topic"
        return RowsWritten(
            write_epoch(
                options.producer,
                options.topic,
                writer=f"broker_sim-{context.getLocalProperty(_QUERY)}-{context.partitionId()}",
                epoch=int(context.getLocalProperty(_EPOCH)),
                send=lambda producer: _send(producer, iterator, options.topic),
            )
        )

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        """Nothing is left to do: each task has completed its own part."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        """Nothing is left to do: what a task has completed stays."""


def _write(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> int:
    from broker_client import Producer

    with Producer(options.producer) as producer:
        return _send(producer, batches, options.topic)


def _send(producer: Producer, batches: Iterator[pa.RecordBatch], topic: str | None) -> int:
    """Send all rows, wait until they are acknowledged, and return their number."""
    from broker_client.errors import ProducerError

    rows = 0
    open_tables: deque[tuple[str, Any]] = deque()
    try:
        for batch in batches:
            for each, table in tables_by_topic(batch, topic):
                open_tables.append((each, producer.send_batch(each, table)))
                rows += table.num_rows
            while len(open_tables) > _TABLES_OPEN_MAX:
                _acknowledged(*open_tables.popleft())
        while open_tables:
            _acknowledged(*open_tables.popleft())
    except ProducerError as error:
        raise ScenarioError(f"{topic or 'the topics'}: rows cannot be written: {error}") from error
    return rows


def _acknowledged(topic: str, future: Any) -> None:
    """Wait for a table; the producer ends each record within delivery.timeout.ms."""
    errors = future.result()["error"]
    failed = len(errors) - errors.null_count
    if failed:
        raise ScenarioError(f"{topic}: {failed} of {len(errors)} rows were not written: {errors.drop_null()[0]}")
