"""Producers inside Spark tasks: each task sends one producer's share over TCP and yields its history.

The stage is a barrier stage, so that all producers start together; too few task slots are refused immediately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import BarrierTaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA, history_batch
from broker_scenarios.arrow.load_table import load_rows
from broker_scenarios.drive import DriveSpec, ProducerFactory, broker_client_producer, drive_share
from broker_scenarios.errors import ScenarioError
from broker_scenarios.garbage import rare_collections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["drive"]


def drive(
    load: DataFrame, spec: DriveSpec, *, producers: int, make_producer: ProducerFactory = broker_client_producer
) -> DataFrame:
    """Return the history of sending the load (LOAD_SCHEMA). Each action on the DataFrame sends again: write it once.

    Raises:
        ScenarioError: Spark has fewer task slots than `producers`.
    """
    slots = load.sparkSession.sparkContext.defaultParallelism
    if slots < producers:
        raise ScenarioError(
            f"{producers} producers need as many Spark task slots, there are {slots}: start_session(task_slots=...)"
        )

    def share(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        rows = (row for batch in batches for row in load_rows(batch))
        with rare_collections():
            yield from map(history_batch, drive_share(rows, spec, make_producer, start_together=context.barrier))

    shares = load.repartitionById(producers, "producer_id").sortWithinPartitions("due_us", "value_id")
    return shares.mapInArrow(share, from_arrow_schema(HISTORY_SCHEMA), barrier=True)
