"""Producers inside Spark tasks: each task sends one producer's share over TCP and writes its history as a Parquet file.

The stage of a load with times is a barrier stage, so that all producers start together; too few task slots are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import BarrierTaskContext, TaskContext
from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.column_drive import drive_columns
from broker_scenarios.arrow.history_files import clear_folder, history_file
from broker_scenarios.arrow.history_table import history_batch
from broker_scenarios.arrow.keyed_load_table import KeyedLoadTable
from broker_scenarios.arrow.load_table import load_rows
from broker_scenarios.drive import DriveSpec, broker_client_producer, drive_share
from broker_scenarios.errors import ScenarioError
from broker_scenarios.garbage import rare_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from broker_scenarios.workloads.keyed_load import LoadSpec

__all__ = ["drive", "drive_keyed_load", "drive_partitions"]

_WRITTEN: Final = pa.schema([pa.field("events", pa.int64(), nullable=False)])
"""One row per task: the events that it has written."""


def drive(
    load: DataFrame,
    spec: DriveSpec,
    folder: str,
    *,
    producers: int,
    make_producer: Callable[[Mapping[str, str]], Any] = broker_client_producer,
    by_columns: bool = False,
) -> int:
    """Send the load (LOAD_SCHEMA), write the history to a folder, and return the number of its events.

    `folder` is a path or URI that driver and executors can reach; what it contains is deleted. With `by_columns` the
    producers send tables (LoadSpec.is_bulk) and need `send_batch`, otherwise `send`.

    Raises:
        ScenarioError: Spark has fewer task slots than `producers`.
    """
    _check_slots(load.sparkSession, producers)
    shares = load.repartitionById(producers, "producer_id").sortWithinPartitions("due_us", "value_id")
    return _send_shares(shares, None, spec, folder, make_producer, by_columns=by_columns)


def drive_keyed_load(
    spark: SparkSession,
    load: LoadSpec,
    seed: int,
    spec: DriveSpec,
    folder: str,
    *,
    make_producer: Callable[[Mapping[str, str]], Any] = broker_client_producer,
) -> int:
    """Send a keyed load as `drive` does. Each task computes the rows of its producer: nothing is shuffled or sorted.

    Raises:
        ScenarioError: Spark has fewer task slots than the load has producers.
    """

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = KeyedLoadTable(load, seed)
        for batch in batches:
            for producer_id in batch.column(0).to_pylist():
                yield from table.share(producer_id)

    _check_slots(spark, load.producers)
    shares = spark.range(0, load.producers, 1, load.producers)
    return _send_shares(shares, rows, spec, folder, make_producer, by_columns=load.is_bulk)


def drive_partitions(load: DataFrame, spec: DriveSpec, folder: str) -> int:
    """Send each partition of a load (LOAD_SCHEMA, perhaps with OWN_COLUMNS) by a producer of its own, as `drive` does.

    Nothing is shuffled. A producer begins when its task runs, so that there may be more partitions than task slots.
    """
    return _send_shares(load, None, spec, folder, broker_client_producer, by_columns=True, together=False)


def _check_slots(spark: SparkSession, producers: int) -> None:
    slots = spark.sparkContext.defaultParallelism
    if slots < producers:
        raise ScenarioError(
            f"{producers} producers need as many Spark task slots, there are {slots}: start_session(task_slots=...)"
        )


def _send_shares(
    shares: DataFrame,
    rows_of: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None,
    spec: DriveSpec,
    folder: str,
    make_producer: Callable[[Mapping[str, str]], Any],
    *,
    by_columns: bool,
    together: bool = True,
) -> int:
    """Send each partition in a task, after `rows_of` has made its rows; returns the number of events.

    `together` starts all producers at one time.
    """
    clear_folder(folder)

    def share(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get() if together else TaskContext.get()
        start = context.barrier if together else int
        with rare_collections(), history_file(folder, context.partitionId()) as file:
            for batch in history(batches if rows_of is None else rows_of(batches), start):
                file.write(batch)
        yield pa.RecordBatch.from_pylist([{"events": file.events}], schema=_WRITTEN)

    def history(batches: Iterable[pa.RecordBatch], start_together: Callable[[], object]) -> Iterator[pa.RecordBatch]:
        if by_columns:
            return drive_columns(batches, spec, make_producer, start_together=start_together)
        rows = (row for batch in batches for row in load_rows(batch))
        return map(history_batch, drive_share(rows, spec, make_producer, start_together=start_together))

    written = shares.mapInArrow(share, from_arrow_schema(_WRITTEN), barrier=together)
    total = written.agg(F.sum("events")).first()
    assert total is not None, "an aggregate without groups has one row"
    return int(total[0])
