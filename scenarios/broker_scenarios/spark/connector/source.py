"""The source: reads topics in batches and in streams. Mirrors KafkaBatch, KafkaMicroBatchStream and KafkaSourceRDD.

A stream keeps the next offset of each partition in Spark's checkpoint, as {"orders": {"0": 23}}; no group commits
offsets. The order of the offsets within a partition is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.ranges import OffsetRange, limited_ends, split_ranges
from broker_scenarios.text_forms import partition_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType

    from broker_scenarios.spark.connector.options import Place, SourceOptions
    from broker_scenarios.spark.connector.topic_offsets import TopicOffsets

__all__ = ["COLUMNS", "HEADERS", "TopicReader", "TopicStreamReader"]

COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"
)
HEADERS: Final = "headers array<struct<key:string,value:binary>>"
"""The schema of the connector, without and with `includeHeaders`."""
_ROWS_PER_BATCH: Final = 10_000


class _Reader:
    """The part that batches and streams share: what tasks do."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range, in a task."""
        if not isinstance(partition, OffsetRange):
            return  # Spark makes a partition where there is none
        # Processes of Spark that do not read have no need of a client, whose import takes most of their time.
        from broker_scenarios.spark.connector.range_reader import read_range

        options = self._options
        schema = to_arrow_schema(self._schema, timezone="UTC")
        tables = read_range(
            partition,
            options.consumer,
            fail_on_data_loss=options.fail_on_data_loss,
            poll_timeout_s=options.poll_timeout_s,
        )
        for table in tables:
            rows = _rows(table, partition.timestamp_type, schema)
            yield from rows.to_batches(max_chunksize=_ROWS_PER_BATCH)

    def _ranges(
        self,
        offsets: TopicOffsets,
        starts: dict[Place, int],
        ends: dict[Place, int],
    ) -> list[OffsetRange]:
        """Return the ranges between offsets. Raises ScenarioError if records between them are gone."""
        options = self._options
        beginnings = offsets.beginnings(starts)
        for key, start in starts.items():
            if options.fail_on_data_loss and start < beginnings[key] and start < ends[key]:
                raise ScenarioError(
                    f"{partition_name(*key)}: offsets {start} to {beginnings[key]} are gone (retention, or deleted "
                    "records): set failOnDataLoss to false to read what is left"
                )
            if options.fail_on_data_loss and start > ends[key]:
                raise _cut_off(key, start, ends[key])
        types = offsets.timestamp_types(topic for topic, _ in starts)
        ranges = [
            OffsetRange(*key, max(start, beginnings[key]), ends[key], types[key[0]]) for key, start in starts.items()
        ]
        return split_ranges(ranges, options.min_partitions)


class TopicReader(_Reader, DataSourceReader):  # type: ignore[misc]
    """Reads what is between startingOffsets and endingOffsets when the query begins."""

    def partitions(self) -> list[OffsetRange]:
        """Return the ranges, on the driver."""
        offsets = _connected(self._options)
        try:
            keys = offsets.partitions()
            starts = offsets.resolved(self._options.starting, keys)
            return self._ranges(offsets, starts, offsets.resolved(self._options.ending, keys))
        finally:
            offsets.close()


class TopicStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads micro-batch after micro-batch; its calls, but for `read`, are in one process beside the driver."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._offsets: TopicOffsets | None = None
        self._last: dict[Place, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what tasks need: no connection."""
        return {"_options": self._options, "_schema": self._schema, "_offsets": None, "_last": None}

    def initialOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802
        """Return the offsets of startingOffsets."""
        cluster = self._cluster()
        return _as_json(cluster.resolved(self._options.starting, cluster.partitions()))

    def latestOffset(self, start: dict[str, dict[str, int]], limit: ReadLimit) -> dict[str, dict[str, int]]:  # noqa: N802
        """Return the ends of the logs, at most `limit` records after `start`. New partitions begin at their start."""
        cluster = self._cluster()
        keys = cluster.partitions()
        ends = cluster.ends(keys)
        if self._last is not None:
            ends = {key: min(end, self._last[key]) for key, end in ends.items() if key in self._last}
        starts = self._starts(start, ends)
        if self._options.fail_on_data_loss:
            _refuse_loss(_from_json(start), ends, self._last)
        # A log that was cut off does not take the query back.
        ends = {key: max(end, starts[key]) for key, end in ends.items()}
        if isinstance(limit, ReadMaxRows):
            ends = limited_ends(starts, ends, limit.max_rows)
        # A partition that is no longer there keeps its place.
        return _as_json({**_from_json(start), **ends})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of maxOffsetsPerTrigger."""
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read no further than the present ends."""
        cluster = self._cluster()
        self._last = cluster.ends(cluster.partitions())

    def reportLatestOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802
        """Return the ends of the logs, for the progress of the query."""
        cluster = self._cluster()
        return _as_json(cluster.ends(cluster.partitions()))

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> list[OffsetRange]:
        """Return the ranges of a micro-batch; the same for the same offsets."""
        ends = _from_json(end)
        starts = self._starts(start, ends)
        moved = {key: offset for key, offset in starts.items() if offset != ends[key]}
        return self._ranges(self._cluster(), moved, ends) if moved else []

    def stop(self) -> None:
        """Close the connections."""
        if self._offsets is not None:
            self._offsets.close()

    def _cluster(self) -> TopicOffsets:
        if self._offsets is None:
            self._offsets = _connected(self._options)
        return self._offsets

    def _starts(self, start: dict[str, dict[str, int]], ends: dict[Place, int]) -> dict[Place, int]:
        known = _from_json(start)
        new = [key for key in ends if key not in known]
        beginnings = self._cluster().beginnings(new) if new else {}
        return {key: known[key] if key in known else beginnings[key] for key in ends}


def _connected(options: SourceOptions) -> TopicOffsets:
    from broker_scenarios.spark.connector.topic_offsets import TopicOffsets

    return TopicOffsets(options)


def _rows(table: pa.Table, timestamp_type: int, schema: pa.Schema) -> pa.Table:
    """Return the records with the columns of the connector."""
    columns = {name: table[name] for name in table.column_names}
    columns["timestamp"] = table["timestamp"].cast(pa.timestamp("ms", "UTC"))
    columns["timestampType"] = pa.repeat(pa.scalar(timestamp_type, pa.int32()), table.num_rows)
    if "headers" in schema.names:
        import pyarrow.compute as pc

        # As the connector: null for a record without headers.
        counts = pc.list_value_length(table["headers"])
        columns["headers"] = pc.if_else(pc.greater(counts, 0), table["headers"], pa.scalar(None, table["headers"].type))
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _refuse_loss(starts: dict[Place, int], ends: dict[Place, int], last: dict[Place, int] | None) -> None:
    for key, start in starts.items():
        if key not in ends and (last is None or key in last):
            raise ScenarioError(f"{partition_name(*key)} is gone: set failOnDataLoss to false to go on without it")
        if key in ends and ends[key] < start:
            raise _cut_off(key, start, ends[key])


def _cut_off(key: Place, start: int, end: int) -> ScenarioError:
    return ScenarioError(
        f"{partition_name(*key)}: offset {start} is beyond the end {end} (the topic was created again, or its log was "
        "cut off): set failOnDataLoss to false to go on"
    )


def _as_json(offsets: dict[Place, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(offsets):
        found.setdefault(topic, {})[str(partition)] = offsets[topic, partition]
    return found


def _from_json(offsets: dict[str, dict[str, int]]) -> dict[Place, int]:
    return {
        (topic, int(partition)): offset for topic, of_topic in offsets.items() for partition, offset in of_topic.items()
    }
