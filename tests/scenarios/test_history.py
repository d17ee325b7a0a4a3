import pyarrow as pa
import pytest

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import (
    HISTORY_SCHEMA,
    EventType,
    HistoryRecorder,
    join_logs,
    read_history,
    write_history,
)


def test_events_come_out_in_the_order_in_which_they_were_recorded():
    recorder = HistoryRecorder("r")
    for index in range(3):
        recorder.record(
            EventType.INVOKE, process=1, producer_id=1, index=index, time_us=index, topic="t", value_id=index,
            size_bytes=8, key=b"k",
        )  # fmt: skip
    first, rest = recorder.drain(2), recorder.drain()
    assert first.schema == HISTORY_SCHEMA
    assert (first.column("index").to_pylist(), rest.column("index").to_pylist()) == ([0, 1], [2])
    assert first.to_pylist()[0]["key"] == b"k"
    assert len(recorder) == 0


def test_a_history_survives_parquet(story, tmp_path):
    story.acked(1, 2).send(3).info(3)
    write_history(tmp_path / "deep" / "history.parquet", story.history())
    assert read_history(tmp_path / "deep" / "history.parquet") == story.history()


def test_a_table_of_another_schema_is_refused_by_the_missing_column(tmp_path):
    with pytest.raises(HistoryError, match="has no column run_id, process"):
        write_history(tmp_path / "history.parquet", pa.table({"value_id": [1]}))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HistoryError, match=r"none\.parquet does not exist"):
        read_history(tmp_path / "none.parquet")


def test_stored_and_truncated_rows_become_one_table(story):
    story.log(1, 2).truncated(3, first_offset=7)
    rows = join_logs(story.stored(), story.truncations()).to_pylist()
    assert [(row["value_id"], row["offset"], row["truncated"]) for row in rows] == [
        (1, 0, False),
        (2, 1, False),
        (3, 7, True),
    ]
