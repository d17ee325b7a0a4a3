import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA, events_of, history_batch, read_history, write_history
from broker_scenarios.errors import HistoryError
from broker_scenarios.history import EventType, HistoryRecorder, join_logs


def test_events_come_out_in_the_order_in_which_they_were_recorded():
    recorder = HistoryRecorder("r")
    for index in range(3):
        recorder.record(
            EventType.INVOKE, process=1, producer_id=1, index=index, time_us=index, topic="t", value_id=index,
            size_bytes=8, key=b"k",
        )  # fmt: skip
    first, rest = recorder.drain(2), recorder.drain()
    assert ([event.index for event in first], [event.index for event in rest]) == ([0, 1], [2])
    assert (first[0].run_id, first[0].key) == ("r", b"k")
    assert len(recorder) == 0


def test_a_history_survives_arrow_and_parquet(story, tmp_path):
    story.acked(1, 2).send(3).info(3)
    batch = history_batch(story.history())
    assert batch.schema == HISTORY_SCHEMA
    assert events_of(batch) == story.history()
    write_history(tmp_path / "deep" / "history.parquet", story.history())
    assert read_history(tmp_path / "deep" / "history.parquet") == story.history()


def test_a_file_of_another_schema_is_refused_by_the_missing_column(tmp_path):
    pq.write_table(pa.table({"value_id": [1]}), tmp_path / "history.parquet")
    with pytest.raises(HistoryError, match="has no column run_id, process"):
        read_history(tmp_path / "history.parquet")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HistoryError, match=r"none\.parquet does not exist"):
        read_history(tmp_path / "none.parquet")


def test_stored_and_truncated_records_become_one_list(story):
    story.log(1, 2).truncated(3, first_offset=7)
    assert [
        (each.value_id, each.offset, each.truncated) for each in join_logs(story.stored(), story.truncations())
    ] == [
        (1, 0, False),
        (2, 1, False),
        (3, 7, True),
    ]
