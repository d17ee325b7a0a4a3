"""The format broker_sim called by Spark, and a verified load, on a real Kafka: the programs of the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_client import Admin, Consumer, Producer, TopicPartition
from broker_scenarios.cli import main
from broker_scenarios.spark.session import start_session
from tests.interop.kafka_release import java_tool
from tests.interop.real_kafka import real_kafka
from tests.scenarios.spark.conftest import QUICK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
RECORDS = 40


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    java_tool("java")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("JDK_JAVA_OPTIONS", QUICK)
        session = start_session("tests", task_slots=2, attempts=4, memory="1g")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with real_kafka("4.3.1") as kafka:
        yield kafka.bootstrap_servers


def program_of(page: str, servers: str, **paths: Path) -> str:
    """The program of a page with other addresses. The JVM would resolve paths in the folder in which it was started."""
    program = re.search(r"^```python\n(.*?)^```$", (HOW_TO / page).read_text(), re.MULTILINE | re.DOTALL)
    assert program is not None
    text = program[1].replace("localhost:9092", servers)
    for name, path in paths.items():
        text = re.sub(rf'"{name}[.]?\w*"', repr(str(path)), text)
    return text


def test_the_program_of_the_page_copies_each_record_once_also_if_its_micro_batch_is_run_again(
    spark: SparkSession, servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.version >= "4.2"
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topic("orders", partitions=2)
        admin.create_topic("copies", partitions=2)
    with Producer(bootstrap_servers=servers) as producer:
        for number in range(RECORDS):
            producer.send("orders", b"%d" % number, partition=number % 2)
    text = program_of("stream-with-spark.md", servers, checkpoint=tmp_path / "checkpoint")
    exec(text, {})
    assert capsys.readouterr().out == f"{RECORDS} records copied\n"
    # As after a driver that ended between the tasks of a micro-batch and its commit: Spark runs the tasks again.
    commit = tmp_path / "checkpoint" / "commits" / "0"
    for file in (commit, commit.with_name(".0.crc")):
        file.unlink()
    copying, _, _ = text.partition("committed =")
    exec(copying, {})
    assert commit.exists()
    with Consumer(bootstrap_servers=servers) as consumer:
        ends = consumer.end_offsets([TopicPartition("copies", partition) for partition in range(2)])
        consumer.assign(ends)
        consumer.seek_to_beginning()
        values: list[bytes | None] = []
        while any(consumer.position(key) < end for key, end in ends.items()):
            values += [record.value for record in consumer.poll()]
    assert sorted(values) == sorted(b"%d" % number for number in range(RECORDS))
    with Admin(bootstrap_servers=servers) as admin:
        admin.delete_topics(["orders"])


def test_the_program_of_the_page_verifies_the_records_of_a_parquet_file(
    spark: SparkSession, servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topic("loaded", partitions=2)
    parquet, evidence = tmp_path / "orders.parquet", tmp_path / "evidence"
    rows = spark.range(RECORDS).selectExpr("cast(id % 5 as string) as key", "'equal' as value", "id")
    rows.write.parquet(str(parquet))
    program = program_of("verify-a-kafka.md", servers, evidence=evidence).replace('topic="orders"', 'topic="loaded"')
    exec(program.replace('"orders.parquet"', repr(str(parquet))), {})
    counts = {"sent": RECORDS, "acked": RECORDS, "stored": RECORDS}
    none = dict.fromkeys(("lost", "duplicated", "reordered", "failed", "unknown"), 0)
    assert capsys.readouterr().out == f"valid {counts | none}\n"
    command = ["check", str(evidence / "history"), "--promises", str(evidence / "promises.json")]
    assert main([*command, "--logs", str(evidence / "logs"), "--spark"]) == 0
    assert f"valid: {RECORDS} operations, 0 findings" in capsys.readouterr().out


def test_the_scenario_of_the_page_runs_with_generated_and_with_own_records(
    spark: SparkSession,
    servers: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (HOW_TO / "verify-a-kafka.md").read_text()
    [scenario] = re.findall(r"^```yaml file=orders.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "orders.yaml").write_text(scenario.replace("100000", str(RECORDS)))
    header = "array(struct('origin' as key, binary('here') as value)) as headers"
    rows = spark.range(RECORDS).selectExpr("cast(id % 5 as string) as key", "'equal' as value", header)
    rows.write.parquet(str(tmp_path / "orders.parquet"))
    commands = re.findall(r"^\$ (broker-sim run orders.yaml --spark .*)$", page, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        arguments = command.replace("127.0.0.1:9092", servers).split()[1:]
        assert main([*arguments, "--json", "result.json"]) == 0
        result = json.loads((tmp_path / "result.json").read_text())
        assert {name: result["counts"][name] for name in ("sent", "acked", "stored")} == dict.fromkeys(
            ("sent", "acked", "stored"), RECORDS
        )
    with Admin(bootstrap_servers=servers) as admin:
        assert "orders" not in admin.list_topics()
