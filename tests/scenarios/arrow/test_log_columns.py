"""The records of the logs by the column, in any order and with gaps."""

from __future__ import annotations

import numpy as np
import pytest

from broker_scenarios.arrow.log_columns import LogColumns
from broker_scenarios.arrow.result_table import logs_table
from broker_scenarios.history import LogRecord


def columns_of(*offsets: int, rows_at_once: int = 2) -> LogColumns:
    records = [LogRecord("t", 0, offset, 100 + at) for at, offset in enumerate(offsets)]
    return LogColumns(logs_table(records).to_batches(rows_at_once))


@pytest.mark.parametrize(
    "offsets", [(5, 6, 7, 8, 9), (5, 6, 8, 9, 10), (5, 6, 9, 10, 12), (9, 8, 6, 5, 7), (7, 8, 5, 6)]
)
def test_each_record_has_its_offset(offsets: tuple[int, ...]) -> None:
    log = columns_of(*offsets).partitions["t", 0]
    requested = np.arange(3, 15)
    at = log.positions_of(requested)
    assert [int(offset) for offset in requested[at >= 0]] == sorted(offsets)
    found = dict(zip(requested[at >= 0].tolist(), log.values[at[at >= 0]].tolist(), strict=True))
    assert found == {offset: 100 + index for index, offset in enumerate(offsets)}


def test_offsets_without_gaps_need_no_memory() -> None:
    assert columns_of(*range(5, 12)).partitions["t", 0].offsets is None
    assert columns_of(5, 6, 8, 9).partitions["t", 0].offsets is not None


def test_values_are_in_doubt_that_are_stored_twice_cut_off_or_share_an_offset() -> None:
    records = [
        LogRecord("t", 0, 0, 1), LogRecord("t", 0, 1, 2), LogRecord("t", 0, 1, 3), LogRecord("u", 0, 0, 4),
        LogRecord("t", 1, 0, 4), LogRecord("t", 1, 1, 5, truncated=True), LogRecord("t", 1, 1, 6),
    ]  # fmt: skip
    columns = LogColumns(logs_table(records).to_batches(2))
    assert columns.doubtful.tolist() == [2, 3, 4, 5]
    assert columns.truncated["value_id"].to_pylist() == [5]
