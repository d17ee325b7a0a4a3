"""`broker_sim` as a format of Spark: reads and writes topics of any Kafka, in batches and in streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.options import includes_headers, sink_options, source_options
from broker_scenarios.spark.connector.sink import TopicStreamWriter, TopicWriter
from broker_scenarios.spark.connector.source import COLUMNS, HEADERS, TopicReader, TopicStreamReader
from broker_scenarios.spark.session import run_workers_on_this_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = ["BrokerSimSource", "register"]


def register(spark: SparkSession) -> None:
    """Make the format `broker_sim` known to a session; the workers of a local one run this interpreter."""
    run_workers_on_this_python(spark)
    spark.dataSource.register(BrokerSimSource)


class BrokerSimSource(DataSource):  # type: ignore[misc]
    """The format; its options have the names of Spark's Kafka connector. Wrong ones raise ScenarioError."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "broker_sim"

    def schema(self) -> str:
        """Return the columns of the connector, with headers if includeHeaders is true."""
        return f"{COLUMNS}, {HEADERS}" if includes_headers(self.options) else COLUMNS

    def reader(self, schema: StructType) -> TopicReader:
        """Return the reader of a batch."""
        return TopicReader(source_options(self.options, is_stream=False), schema)

    def streamReader(self, schema: StructType) -> TopicStreamReader:  # noqa: N802
        """Return the reader of a stream."""
        return TopicStreamReader(source_options(self.options, is_stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> TopicWriter:  # noqa: FBT001 - Spark's signature
        """Return the writer of a batch."""
        if overwrite:
            raise ScenarioError('mode("overwrite"): records of a topic cannot be overwritten: expected mode("append")')
        return TopicWriter(sink_options(self.options, is_stream=False), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TopicStreamWriter:  # noqa: FBT001, N802
        """Return the writer of a stream; an output mode that replaces rows is refused."""
        if overwrite:
            raise ScenarioError('outputMode("complete"): records of a topic cannot be overwritten: expected "append"')
        return TopicStreamWriter(sink_options(self.options, is_stream=True), schema)
