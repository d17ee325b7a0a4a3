"""The records of the logs as Parquet files (LOGS_SCHEMA), read batch by batch by the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from broker_scenarios.arrow.record_id_columns import header_ids
from broker_scenarios.arrow.result_table import LOGS_SCHEMA, logs_table
from broker_scenarios.workloads.values import VALUE_BYTES_MIN, value_id_of
from protocol_specs.errors import RecordBatchError
from protocol_specs.records.batch_peek import MAGIC_OFFSET, MAGIC_V2
from protocol_specs.records.columnar.arrays import gather_strings, np
from protocol_specs.records.columnar.arrow import columns_to_arrow
from protocol_specs.records.columnar.reader import read_batch_columns
from protocol_specs.records.record_set import check_any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.history import LogRecord
    from broker_sim.log.replica_log import ReplicaLog
    from protocol_specs.records.columnar.columns import RecordColumns, StringColumn

    Ints = NDArray[np.int64]

__all__ = ["TruthFiles"]

_ROWS_AT_ONCE: Final = 200_000
_FORMAT: Final[Mapping[str, Any]] = {"compression": "zstd", "compression_level": 1}


class TruthFiles:
    """A folder with one file per partition, and one per list of records."""

    def __init__(self, folder: Path, own_values_of: str | None = None) -> None:
        """Make the folder. `own_values_of` is the run of a load of a user's values: the ids are in headers."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._run_id = own_values_of
        self._lists = 0

    def add_log(self, log: ReplicaLog, topic: str, partition: int) -> bool:
        """Write the records of a log; returns False, and writes none, if they have to be read one by one.

        Those are logs with transactions, with an old format or with damage.
        """
        path = self._path(f"{topic}-{partition}")
        with pq.ParquetWriter(path, LOGS_SCHEMA, **_FORMAT) as writer:
            for table in self._tables(log, topic, partition):
                if table is None:
                    break
                writer.write_table(table)
            else:
                return True
        path.unlink()
        return False

    def add_records(self, records: Sequence[LogRecord]) -> None:
        """Write records that were read one by one."""
        self._lists += 1
        pq.write_table(logs_table(records), self._path(f"records-{self._lists}"), **_FORMAT)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _tables(self, log: ReplicaLog, topic: str, partition: int) -> Iterator[pa.Table | None]:
        """Return the records of a log, some batches at a time; None for a batch that is to be read record by record."""
        where = "value" if self._run_id is None else "headers"
        offsets: list[Ints] = []
        values: list[Ints] = []
        count = 0
        for batch in log.batches():
            if batch.is_control or batch.is_transactional or batch.data[MAGIC_OFFSET] != MAGIC_V2:
                yield None
                return
            try:
                check_any(batch.data)
                columns = read_batch_columns(batch.data, columns=("offset", where))
            except RecordBatchError:
                yield None
                return
            offsets.append(columns.offset)
            values.append(self._ids(columns))
            count += len(columns)
            if count >= _ROWS_AT_ONCE:
                yield _table(topic, partition, offsets, values)
                offsets, values, count = [], [], 0
        if count:
            yield _table(topic, partition, offsets, values)

    def _ids(self, columns: RecordColumns) -> Ints:
        if self._run_id is None:
            return _value_ids(columns.value)
        return header_ids(columns_to_arrow(columns)["headers"], self._run_id)


def _table(topic: str, partition: int, offsets: list[Ints], values: list[Ints]) -> pa.Table:
    rows = np.concatenate(offsets)
    return pa.table(
        {
            "topic": pa.repeat(topic, len(rows)),
            "partition": np.full(len(rows), partition, np.int32),
            "offset": rows,
            "value_id": np.concatenate(values),
            "truncated": np.zeros(len(rows), np.bool_),
        },
        schema=LOGS_SCHEMA,
    )


def _value_ids(values: StringColumn) -> Ints:
    """As value_id_of, for all values together if all begin with an id."""
    if len(values) and int(values.sizes.min()) >= VALUE_BYTES_MIN:
        _, heads = gather_strings(values.data, values.starts, np.full(len(values), VALUE_BYTES_MIN, np.int64))
        ids = heads.view(">i8").astype(np.int64)
        if int(ids.min()) >= 0 and int(ids.max()) < 1 << 56:
            return ids
    return np.array([value_id_of(value) for value in values], np.int64)
