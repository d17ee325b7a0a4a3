"""The columns of a DataFrame that is sent: checked by name and type, and turned into tables for Producer.send_batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import DataType

__all__ = ["check_columns", "record_table", "tables_by_topic"]

_EXPECTED: Final = {
    "key": "string or binary",
    "value": "string or binary",
    "topic": "string",
    "partition": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "timestamp": "timestamp, or long (milliseconds)",
}
"""The columns and their types, as the connector names them; it has no timestamp."""


def check_columns(schema: StructType, what: str, *, topic: str | None) -> None:
    """Check the columns of a DataFrame whose rows are sent; `topic` is that of all rows.

    Raises:
        ScenarioError: a column is unknown or missing, or has another type; `what` begins the message.
    """
    for column in schema.fields:
        if column.name not in _EXPECTED:
            raise ScenarioError(
                f"{what}: column {column.name!r} is no part of a record: expected {', '.join(_EXPECTED)}; select "
                "those that are sent"
            )
        if not _is_fitting(column.name, column.dataType):
            raise ScenarioError(
                f"{what}: column {column.name!r} has the type {column.dataType.simpleString()}: expected "
                f"{_EXPECTED[column.name]}"
            )
    if "value" not in schema.names:
        raise ScenarioError(f"{what}: there is no column 'value' ({_EXPECTED['value']}) among {schema.names}")
    if topic is None and "topic" not in schema.names:
        raise ScenarioError(f"{what}: there is no topic: expected a column 'topic' (string) or the option topic")


def _is_fitting(name: str, kind: DataType) -> bool:
    if name in {"key", "value"}:
        return isinstance(kind, StringType | BinaryType)
    if name == "headers":
        return (
            isinstance(kind, ArrayType)
            and isinstance(kind.elementType, StructType)
            and kind.elementType.names == ["key", "value"]
            and isinstance(kind.elementType["key"].dataType, StringType)
            and isinstance(kind.elementType["value"].dataType, BinaryType)
        )
    if name == "timestamp":
        return isinstance(kind, TimestampType | TimestampNTZType | LongType)
    return isinstance(kind, StringType if name == "topic" else IntegerType)


def record_table(batch: pa.RecordBatch) -> pa.Table:
    """Return the columns of a batch, but for its topic, as Producer.send_batch takes them.

    Raises:
        ScenarioError: a header or its key is null.
    """
    columns = {name: batch.column(name) for name in batch.schema.names if name != "topic"}
    timestamps = columns.get("timestamp")
    if timestamps is not None and pa.types.is_timestamp(timestamps.type):
        columns["timestamp"] = timestamps.cast(pa.timestamp("ms", timestamps.type.tz), safe=False).cast(pa.int64())
    if "headers" in columns:
        _check_headers(columns["headers"])
    return pa.table(columns)


def tables_by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each topic: `topic` if it is given, else that of the row. Rows keep their order.

    Raises:
        ScenarioError: the topic of a row, a header or its key is null.
    """
    if topic is not None:
        yield topic, record_table(batch)
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise ScenarioError("column 'topic' has a null: expected the name of a topic in each row, or the option topic")
    import pyarrow.compute as pc

    for each in topics.unique().to_pylist():
        yield each, record_table(batch.filter(pc.equal(topics, each)))


def _check_headers(headers: pa.Array) -> None:
    entries = headers.flatten()
    if entries.null_count or entries.field("key").null_count:
        raise ScenarioError("column 'headers' has a null header or key: expected a key (string) in each header")
