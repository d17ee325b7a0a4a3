from random import Random

import pyarrow.parquet as pq
import pytest

from broker_scenarios.arrow.history_table import write_history
from broker_scenarios.arrow.result_table import logs_table
from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.history import EventType, HistoryRecorder, LogRecord, TruncatedRecord, join_logs
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
        values = {"process": process, "producer_id": process, "index": index, "topic": "orders", "size_bytes": 100,
                "value_id": value_id, "key": b"k%d" % (value_id % 5)}  # fmt: skip
        recorder.record(EventType.INVOKE, time_us=10 * value_id, **values)
        offset = ends[partition] = ends.get(partition, -1) + 1
        fate = chance.choice(["kept"] * 6 + ["lost", "doubled", "late", "fail", "info", "open", "moved"])
        if fate == "open":
            continue
        event = {"fail": EventType.FAIL, "info": EventType.INFO}.get(fate, EventType.OK)
        known = -1 if fate in {"fail", "info"} else partition
        recorder.record(event, time_us=10 * value_id + 5, partition=known, offset=offset, **values)
        if fate == "lost":
            truncated.append(TruncatedRecord("orders", partition, offset, value_id, 1, 0, 9_000))
            continue
        record = LogRecord("orders", partition, offset + 1_000 if fate == "late" else offset, value_id)
        if fate == "moved":
            record = record._replace(partition=(partition + 1) % 3)
        if fate != "fail" or chance.random() < 0.5:
            stored += [record, record._replace(offset=offset + 2_000)] if fate == "doubled" else [record]
    return recorder.drain(), stored, truncated


@pytest.fixture(scope="module")
def engine(spark):
    return SparkEngine(spark)


def test_both_engines_give_the_same_results(engine):
    history, stored, truncated = troubled_run(3)
    logs = join_logs(stored, truncated)
    results = [engine.check(history, logs), check_all(history, logs)]
    for result in results:
        result.sort()
    assert results[0] == results[1]
    assert len({finding.kind for finding in results[1].findings}) > 7


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


def test_the_plain_sends_of_files_are_counted_and_the_verdict_is_the_same(engine, tmp_path):
    history, stored, truncated = troubled_run(6)
    calm = HistoryRecorder("run-1")
    for index in range(50):
        values = {
            "process": 9,
            "producer_id": 9,
            "index": index,
            "topic": "calm",
            "size_bytes": 9,
            "value_id": 900 + index,
        }
        calm.record(EventType.INVOKE, time_us=1, **values)
        calm.record(EventType.OK, time_us=2, partition=0, offset=index, **values)
        stored.append(LogRecord("calm", 0, index, 900 + index))
    history += calm.drain()
    write_history(tmp_path / "history.parquet", history)
    pq.write_table(logs_table(join_logs(stored, truncated)), tmp_path / "logs.parquet")
    verdicts = [
        check_run(
            history=tmp_path / "history.parquet", stored=logs, truncated=truncated, promises=PROMISES, engine=each
        )
        for each, logs in ((engine, tmp_path / "logs.parquet"), (DirectEngine(), stored))
    ]
    assert sum(record.count for record in verdicts[0].records) == len(verdicts[1].records)
    assert [record.count for record in verdicts[0].records if record.topic == "calm"] == [50]
    for verdict in verdicts:
        verdict.records = []
    assert verdicts[0] == verdicts[1]


def test_a_partition_with_logs_and_no_sends_is_checked_too(engine):
    result = engine.check([], [LogRecord("t", 1, 0, 9)])
    assert [(finding.kind, finding.value_id) for finding in result.findings] == [("misdelivered", 9)]


def test_a_malformed_history_is_a_crash_of_the_check_and_not_of_spark(engine):
    history, stored, _ = troubled_run(5)
    verdict = check_run(history=[*history, history[0]], stored=stored, promises=PROMISES, engine=engine)
    assert any("invokes send 0 twice" in crash for crash in verdict.crashes)
