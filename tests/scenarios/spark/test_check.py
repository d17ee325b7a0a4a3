from random import Random

import pyarrow as pa
import pytest

from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.history import (
    HISTORY_SCHEMA,
    STORED_SCHEMA,
    TRUNCATED_SCHEMA,
    EventType,
    HistoryRecorder,
    join_logs,
    write_history,
)
from broker_scenarios.promises import Promises
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.verdict import DirectEngine, check_run

PROMISES = Promises(acks=1, replication_factor=3, enable_idempotence=False)


def troubled_run(seed):
    """A history with some of everything: losses, copies, disorder, unknown outcomes, foreign values."""
    chance = Random(seed)
    recorder = HistoryRecorder("run-1")
    stored, truncated, ends = [], [], {}
    for value_id in range(300):
        process, partition = chance.randrange(3), chance.randrange(3)
        index = ends[process, "index"] = ends.get((process, "index"), -1) + 1
        told = {"process": process, "producer_id": process, "index": index, "topic": "orders", "size_bytes": 100,
                "value_id": value_id, "key": b"k%d" % (value_id % 5)}  # fmt: skip
        recorder.record(EventType.INVOKE, time_us=10 * value_id, **told)
        offset = ends[partition] = ends.get(partition, -1) + 1
        fate = chance.choice(["kept"] * 6 + ["lost", "doubled", "late", "fail", "info", "open", "moved"])
        if fate == "open":
            continue
        event = {"fail": EventType.FAIL, "info": EventType.INFO}.get(fate, EventType.OK)
        known = -1 if fate in {"fail", "info"} else partition
        recorder.record(event, time_us=10 * value_id + 5, partition=known, offset=offset, **told)
        row = {"topic": "orders", "partition": partition, "offset": offset, "value_id": value_id,
               "leader_epoch": 0, "broker": 1}  # fmt: skip
        if fate == "lost":
            truncated.append(row | {"time_us": 9_000})
            continue
        if fate == "late":
            row["offset"] = offset + 1_000
        if fate == "moved":
            row["partition"] = (partition + 1) % 3
        copies = [row, row | {"offset": offset + 2_000}] if fate == "doubled" else [row]
        if fate != "fail" or chance.random() < 0.5:
            stored += [copy | {"batch_base_offset": copy["offset"]} for copy in copies]
    tables = (pa.Table.from_pylist(rows, schema=schema) for rows, schema in (
        (stored, STORED_SCHEMA), (truncated, TRUNCATED_SCHEMA),
    ))  # fmt: skip
    return recorder.table(), *tables


def ordered(result):
    names = ("sort", "topic", "partition", "kind", "process", "index", "value_id", "offset", "detail")
    return result.sort_by([(name, "ascending") for name in names])


@pytest.fixture(scope="module")
def engine(spark):
    return SparkEngine(spark)


def test_both_engines_give_the_same_rows(engine):
    history, stored, truncated = troubled_run(3)
    logs = join_logs(stored, truncated)
    direct = check_all(history, logs)
    assert len(set(direct.column("kind").to_pylist())) > 8
    assert ordered(engine.check(history, logs)) == ordered(direct)


def test_both_engines_give_the_same_verdict_from_the_same_parquet(engine, tmp_path):
    history, stored, truncated = troubled_run(4)
    write_history(tmp_path / "history.parquet", history)
    verdicts = [
        check_run(
            history=tmp_path / "history.parquet", stored=stored, truncated=truncated, promises=PROMISES, engine=each
        )
        for each in (engine, DirectEngine())
    ]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].counts.lost > 0


def test_a_partition_with_logs_and_no_sends_is_checked_too(engine):
    stored = pa.Table.from_pylist(
        [{"topic": "t", "partition": 1, "offset": 0, "value_id": 9, "leader_epoch": 0, "broker": 1,
          "batch_base_offset": 0}],
        schema=STORED_SCHEMA,
    )  # fmt: skip
    (row,) = engine.check(HISTORY_SCHEMA.empty_table(), join_logs(stored)).to_pylist()
    assert (row["sort"], row["kind"], row["value_id"]) == ("finding", "misdelivered", 9)


def test_a_malformed_history_is_a_crash_of_the_check_and_not_of_spark(engine):
    history, stored, _ = troubled_run(5)
    first = history.slice(0, 1)
    verdict = check_run(history=pa.concat_tables([history, first]), stored=stored, promises=PROMISES, engine=engine)
    assert any("invokes send 0 twice" in crash for crash in verdict.crashes)
