"""The records that the partitions of any Kafka hold after a load: tasks read ranges of offsets, and write Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.record_id_columns import header_ids, value_ids
from broker_scenarios.arrow.result_table import LOGS_SCHEMA
from broker_scenarios.spark.connector.range_reader import read_range
from broker_scenarios.spark.connector.ranges import split_ranges
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from broker_scenarios.spark.connector.ranges import OffsetRange

__all__ = ["write_stored_records"]

_RANGES_PER_SLOT: Final = 4
"""Ranges per task slot: one large partition is several tasks."""
_RANGE_OFFSETS_MIN: Final = 50_000
"""A smaller range costs more for its connection than for its records."""
_POLL_TIMEOUT_S: Final = 60.0


def write_stored_records(
    spark: SparkSession,
    client: Mapping[str, str],
    ranges: Sequence[OffsetRange],
    folder: str,
    *,
    run_id: str,
    has_own_values: bool,
) -> int:
    """Write one row per record of a run (LOGS_SCHEMA), and return the number of records of other clients.

    `client` are the configurations of every client. With `has_own_values` the ids are in headers, and the records of
    other clients and runs are left out; otherwise the ids are in the values, and no other client may have written.

    Raises:
        Py4JJavaError, PySparkException: a range cannot be read.
    """
    total = sum(each.size for each in ranges)
    least = spark.sparkContext.defaultParallelism * _RANGES_PER_SLOT
    parts = split_ranges(ranges, min(least, total // _RANGE_OFFSETS_MIN))
    others = spark.sparkContext.accumulator(0)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            part = parts[number]
            for table in read_range(part, client, fail_on_data_loss=True, poll_timeout_s=_POLL_TIMEOUT_S):
                ids = header_ids(table["headers"], run_id) if has_own_values else value_ids(table["value"])
                mine = ids >= 0 if has_own_values else np.ones(len(ids), np.bool_)
                others.add(len(ids) - int(mine.sum()))
                yield _logs(part, table["offset"].to_numpy()[mine], ids[mine])

    rows = spark.range(0, len(parts), 1, max(1, len(parts))).mapInArrow(read, from_arrow_schema(LOGS_SCHEMA))
    rows.write.mode("overwrite").parquet(folder)
    return int(others.value)


def _logs(part: OffsetRange, offsets: np.ndarray, ids: np.ndarray) -> pa.RecordBatch:
    count = len(ids)
    columns = [
        pa.repeat(pa.scalar(part.topic, pa.string()), count),
        pa.repeat(pa.scalar(part.partition, pa.int32()), count),
        pa.array(offsets, pa.int64()),
        pa.array(ids, pa.int64()),
        pa.repeat(pa.scalar(False), count),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LOGS_SCHEMA)
