"""Producers inside Spark tasks: each task sends one producer's share over TCP and yields what it was told.

The stage is a barrier stage, so that all producers begin together; too few task slots are refused at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import BarrierTaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.drive import DriveSpec, ProducerFactory, broker_client_producer, drive_share
from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import HISTORY_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["drive"]


def drive(
    load: DataFrame, spec: DriveSpec, *, producers: int, make_producer: ProducerFactory = broker_client_producer
) -> DataFrame:
    """The history of sending the load (LOAD_SCHEMA): lazy as any DataFrame, so act on it once (write it)."""
    slots = load.sparkSession.sparkContext.defaultParallelism
    if slots < producers:
        raise ScenarioError(
            f"{producers} producers need as many Spark task slots, there are {slots}: start_session(task_slots=...)"
        )

    def share(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        yield from drive_share(batches, spec, make_producer, start_together=context.barrier)

    shares = load.repartitionById(producers, "producer_id").sortWithinPartitions("due_us", "value_id")
    return shares.mapInArrow(share, from_arrow_schema(HISTORY_SCHEMA), barrier=True)
