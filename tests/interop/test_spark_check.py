"""`broker-sim check --spark`: the verdict of one process, from tables that Spark reads and shuffles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.planted_anomalies import differences, main, places_of
from benchmarks.planted_history import PROMISES, write_planted_history
from broker_scenarios.arrow.send_table import EVENT_COLUMNS
from broker_scenarios.errors import HistoryError, ScenarioError
from broker_scenarios.histories.circumstances import circumstances_of
from broker_scenarios.histories.judge import check_history
from broker_scenarios.spark.judge import judge_on_spark
from broker_scenarios.spark.session import start_session
from tests.interop.kafka_release import java_tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

CIRCUMSTANCES = circumstances_of(PROMISES)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    java_tool("java")
    session = start_session("tests", task_slots=2, attempts=4, memory="1g")
    yield session
    session.stop()


def test_the_commands_with_and_without_spark_find_what_was_planted(capsys: pytest.CaptureFixture[str]) -> None:
    java_tool("java")
    assert main(["--events", "4000", "--anomalies", "30"]) == 0
    out = capsys.readouterr().out
    assert "direct: 33 of 33 findings, as planted" in out
    assert "spark: 33 of 33 findings, as planted" in out
    assert "both engines print the same verdict" in out


def test_several_files_and_no_logs_have_the_verdict_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    broken, recovered = write_planted_history(tmp_path, events=4_000, anomalies=30, seed=6)
    # The rows of findings count through the files, in the order of their names.
    # They have the columns that the checks need alone, with null for an offset that is not known.
    history = pq.read_table(tmp_path / "history", columns=[name for name in EVENT_COLUMNS if name != "error"])
    offsets = pc.if_else(pc.greater_equal(history["offset"], 0), history["offset"], None)
    history = history.set_column(history.column_names.index("offset"), "offset", offsets)
    for first, name in ((1_500, "b"), (0, "a"), (3_000, "c")):
        (tmp_path / "parts").mkdir(exist_ok=True)
        pq.write_table(history.slice(first, 1_500), tmp_path / "parts" / f"{name}.parquet")
    verdict = judge_on_spark(spark, tmp_path / "parts", CIRCUMSTANCES, tmp_path / "logs")
    assert differences(places_of(verdict.as_json()), broken + recovered) == []
    without_logs = judge_on_spark(spark, tmp_path / "parts", CIRCUMSTANCES)
    assert without_logs == check_history(tmp_path / "parts", PROMISES)
    assert without_logs.unknown


def test_a_malformed_table_is_refused_with_the_message_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    write_planted_history(tmp_path, events=4_000, anomalies=30, seed=6)
    history = pq.read_table(tmp_path / "history")
    for number, (table, message) in enumerate(
        [
            (history.filter(history["time_us"].combine_chunks().is_valid()).slice(0, 0), "has no operations"),
            (history.drop_columns(["offset"]), "has no column offset"),
            (history.set_column(4, "type", [["okay"] * len(history)]), "expected one of invoke, ok, fail, info"),
            (history.slice(100), "has no open send to complete"),
        ]
    ):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path)
        for judge in (
            lambda path=path: judge_on_spark(spark, path, CIRCUMSTANCES),
            lambda path=path: check_history(path, PROMISES),
        ):
            with pytest.raises(ScenarioError, match=message):
                judge()
    with pytest.raises(HistoryError, match=r"history\.arrow cannot be read by Spark: expected Parquet"):
        judge_on_spark(spark, tmp_path / "history.arrow", CIRCUMSTANCES)
