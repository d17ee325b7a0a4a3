"""The load as Arrow record batches, for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from broker_scenarios.workloads.keyed_load import LoadRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LOAD_SCHEMA", "load_batch", "load_rows"]

LOAD_SCHEMA: Final = pa.schema(
    [
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("producer_id", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("size_bytes", pa.int32(), nullable=False),
        pa.field("due_us", pa.int64(), nullable=False),
    ]
)
"""One row per record, with the fields of LoadRow."""


def load_batch(rows: Iterable[LoadRow]) -> pa.RecordBatch:
    """Return the rows as one batch of LOAD_SCHEMA."""
    columns = list(zip(*rows, strict=True)) or [()] * len(LOAD_SCHEMA)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, LOAD_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=LOAD_SCHEMA)


def load_rows(batch: pa.RecordBatch) -> Iterator[LoadRow]:
    """Return the rows of a batch."""
    columns = (batch.column(name).to_pylist() for name in LOAD_SCHEMA.names)
    return map(LoadRow._make, zip(*columns, strict=True))
