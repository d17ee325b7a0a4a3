"""The records of a poll as one Arrow table. The columnar form of Fetcher's ConsumerRecords; needs the extra `arrow`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.columnar.arrays import ColumnarUnavailable
from protocol_specs.records.columnar.arrow import SCHEMA as RECORD_SCHEMA
from protocol_specs.records.columnar.arrow import columns_to_arrays, table_of_arrays
from protocol_specs.records.columnar.joined_reader import read_joined

try:
    import pyarrow as pa
except ImportError:
    raise ColumnarUnavailable("pyarrow") from None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.consumer.fetched_batches import FetchedBatch
    from broker_client.records import TopicPartition
    from protocol_specs.records.columnar.columns import RecordColumns

__all__ = ["SCHEMA", "table_of"]

SCHEMA: Final = pa.schema(
    [pa.field("topic", pa.string(), nullable=False), pa.field("partition", pa.int32(), nullable=False), *RECORD_SCHEMA]
)
"""topic, partition, offset, timestamp, key, value, headers."""


NAMES_KEPT: Final = 16
"""The partitions whose names are kept for the next poll."""


def table_of(batches: Sequence[FetchedBatch]) -> Any:
    """All records of the batches from their requested positions, in their order within each partition."""
    by_partition: dict[TopicPartition, list[FetchedBatch]] = {}
    for batch in batches:
        by_partition.setdefault(batch.topic_partition, []).append(batch)
    tables = []
    for key, of_partition in by_partition.items():
        columns = read_joined([batch.batch for batch in of_partition])
        tables.append(_table(key, columns, of_partition[0].position))
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables, promote_options="permissive") if tables else SCHEMA.empty_table()


def _table(key: TopicPartition, columns: RecordColumns, position: int) -> Any:
    count = len(columns)
    topics, partitions = _repeated(key, 1 << count.bit_length())
    table = table_of_arrays([topics[:count], partitions[:count], *columns_to_arrays(columns)], SCHEMA)
    first = int(columns.offset.searchsorted(position))
    return table.slice(first) if first else table


@lru_cache(NAMES_KEPT)
def _repeated(key: TopicPartition, count: int) -> tuple[Any, Any]:
    """The topic and the partition of `count` records."""
    return pa.repeat(pa.scalar(key.topic, pa.string()), count), pa.repeat(pa.scalar(key.partition, pa.int32()), count)
