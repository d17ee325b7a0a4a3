"""The load as a Spark DataFrame: the rows of workloads.keyed_load, independent of the partitioning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.keyed_load_table import KeyedLoadTable
from broker_scenarios.arrow.load_table import LOAD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from broker_scenarios.workloads.keyed_load import LoadSpec

__all__ = ["load_frame"]


def load_frame(spark: SparkSession, spec: LoadSpec, seed: int, *, partitions: int | None = None) -> DataFrame:
    """Return the producer, key, size and time of each record: one row per record (LOAD_SCHEMA)."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        load = KeyedLoadTable(spec, seed)
        for batch in batches:
            yield load.batch(batch.column(0).to_numpy())

    slices = partitions or spark.sparkContext.defaultParallelism
    ids = spark.range(0, spec.records, 1, slices)
    return ids.mapInArrow(rows, from_arrow_schema(LOAD_SCHEMA))
