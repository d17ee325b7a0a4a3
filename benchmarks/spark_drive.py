"""The Spark drive with and without a history, its verification, and Spark's own Kafka connector beside it.

    python -m benchmarks.spark_drive --records 10000000

Records of 100 B with keys, four partitions, one broker, two producers on two task slots. The drive with a history is a
run as `broker-sim run --spark` makes it: the load, the sends, the history as Parquet, then the logs and the checks. The
drive without one sends the same records with the same producers. The connector (`df.write.format("kafka")`) writes rows
of the same sizes to `broker-sim serve` and, where the interop cache has it, to a real Kafka as it is shipped. Each
session of Spark is a process of its own, and sends some records before it is measured. A missed target leaves exit
status 0.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.process_usage import cpu_seconds, descendants, peak_memory_mb
from benchmarks.result import Result, table
from broker_scenarios.language.scenario import load_scenario
from broker_sim.argument_types import positive
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import AS_SHIPPED, real_kafka
from tests.interop.served_cluster import environment, served_cluster
from tests.interop.servers import create_topic
from tests.interop.spark_connector import connector_jars

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from broker_scenarios.drive import DriveSpec

RELEASE: Final = "4.3.1"
TOPIC: Final = "measured"
PARTITIONS: Final = 4
PRODUCERS: Final = 2
RECORD_BYTES: Final = 100
RATE: Final = 1_000_000_000
"""Records per second: all are due at once."""
SIZES: Final = f"[{{bytes: {RECORD_BYTES}}}]"
SEED: Final = 7
RATE_TARGET: Final = 300_000
CONNECTOR_TARGET: Final = 1.5
CHECK_SECONDS_MAX: Final = 60
DRIVER_MB_MAX: Final = 2048
SESSION_SECONDS_MAX: Final = 1200
SCENARIO: Final = f"""
title: Records from Spark as fast as they can be sent
claim: every acknowledged record is stored once
cluster: {{brokers: 1}}
topics: {{{TOPIC}: {{partitions: {PARTITIONS}, replication_factor: 1}}}}
producer: {{acks: all}}
load: {{topic: {TOPIC}, records: 1, producers: {PRODUCERS}, rate_per_second: {RATE}, sizes: {SIZES}}}
expect: {{verdict: valid, lost: 0, duplicate: 0}}
"""


@dataclass(slots=True, kw_only=True)
class Measured:
    """One part of a session: its seconds, and CPU seconds by process."""

    name: str
    records: int
    seconds: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    driver_mb: float = 0.0
    """The peak memory of the driver's process up to the end of this part; the brokers of a verified run are in it."""

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    def line(self) -> str:
        """Describe it in one line."""
        cpu = ", ".join(f"{part} {seconds / self.records * 1e6:.2f}" for part, seconds in self.cpu.items())
        total = sum(self.cpu.values()) / self.records * 1e6
        return (
            f"  {self.name}: {self.seconds:.1f} s, {self.rate:,.0f} records/s; CPU {total:.2f} us per record ({cpu});"
            f" driver at most {self.driver_mb:,.0f} MB"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_drive", description=__doc__)
    parser.add_argument("--records", type=positive, default=10_000_000, help="of the drive (default 10,000,000)")
    parser.add_argument("--rows", type=positive, default=3_000_000, help="of the connector (default 3,000,000)")
    parser.add_argument("--warm-up", type=positive, default=200_000, help="records before each (default 200,000)")
    parser.add_argument("--without-connector", action="store_true", help="measure the drive alone")
    parser.add_argument("--session", choices=("drive", "connector"), help=argparse.SUPPRESS)
    parser.add_argument("--servers", help=argparse.SUPPRESS)
    parser.add_argument("--server-pid", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.session == "drive":
        _print_measured(_drive_session(options.records, options.warm_up))
        return 0
    if options.session == "connector":
        _print_measured(_connector_session(options.rows, options.warm_up, options.servers, options.server_pid))
        return 0
    parts = {
        each.name: each
        for each in _session("drive", "--records", str(options.records), "--warm-up", str(options.warm_up))
    }
    if not options.without_connector:
        for each in _connectors(options.rows):
            parts[each.name] = each
    for each in parts.values():
        print(each.line())
    print(table(_results(parts)))
    return 0


def _results(parts: dict[str, Measured]) -> list[Result]:
    sent, unrecorded = parts["drive with history"], parts["drive without history"]
    check_s = parts["logs"].seconds + parts["checks"].seconds
    results = [
        Result(
            name="drive with history",
            ours=f"{sent.rate:,.0f}/s",
            other="",
            figure=sent.rate / 1000,
            target=RATE_TARGET / 1000,
            at_least=True,
            unit="k/s",
        ),
        Result.at_most("verification beyond sending", check_s, CHECK_SECONDS_MAX, " s", decimals=1),
        Result.at_most("memory of the driver", parts["checks"].driver_mb, DRIVER_MB_MAX, " MB", decimals=0),
    ]
    for name, other in parts.items():
        if name.startswith("connector"):
            results += [
                Result(
                    name=f"{ours.name} beside the {name}",
                    ours=f"{ours.rate:,.0f}/s",
                    other=f"{other.rate:,.0f}/s",
                    figure=ours.rate / other.rate,
                    target=CONNECTOR_TARGET,
                    at_least=True,
                    unit="x",
                )
                for ours in (sent, unrecorded)
            ]
    return results


def _connectors(rows: int) -> Iterator[Measured]:
    with served_cluster("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1") as cluster:
        yield from _connector("broker-sim serve", rows, cluster.bootstrap_servers, cluster.process.pid)
    try:
        with real_kafka(RELEASE, jvm=AS_SHIPPED) as kafka:
            create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS)
            yield from _connector(f"Kafka {RELEASE}", rows, kafka.bootstrap_servers, kafka.pid_of(1))
    except ToolMissingError as missing:
        print(f"no comparison with a real Kafka: {missing}", file=sys.stderr)


def _connector(name: str, rows: int, servers: str, pid: int) -> Iterator[Measured]:
    options = ("--rows", str(rows), "--servers", servers, "--server-pid", str(pid))
    for measured in _session("connector", *options):
        measured.name = f"connector to {name}"
        yield measured


def _session(kind: str, *options: str) -> list[Measured]:
    """Run a session of Spark in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.spark_drive", "--session", kind, *options]
    done = subprocess.run(
        command, env=environment(), check=True, stdout=subprocess.PIPE, text=True, timeout=SESSION_SECONDS_MAX
    )
    return [Measured(**each) for each in json.loads(done.stdout.splitlines()[-1])]


def _print_measured(parts: list[Measured]) -> None:
    print(json.dumps([asdict(each) for each in parts]))


# In the process of a session


def _drive_session(records: int, warm_up: int) -> list[Measured]:
    """Send with a history and verify it, then send without one."""
    from broker_scenarios.spark.session import start_session

    spark = start_session("benchmark", task_slots=PRODUCERS)
    with TemporaryDirectory(prefix="spark-drive-") as folder:
        _verified(spark, warm_up, Path(folder) / "warm-up")
        return [*_verified(spark, records, Path(folder) / "measured"), _unrecorded(spark, records)]


def _verified(spark: SparkSession, records: int, folder: Path) -> list[Measured]:
    """Run the scenario as `broker-sim run --spark` does, part by part."""
    from broker_scenarios.arrow.truth_files import TruthFiles
    from broker_scenarios.evidence import judged
    from broker_scenarios.spark.check import SparkEngine
    from broker_scenarios.spark.drive import drive_keyed_load
    from broker_scenarios.table import load_progress
    from broker_scenarios.tcp_run import run_over_tcp

    folder.mkdir()
    (folder / "scenario.yaml").write_text(SCENARIO)
    scenario = load_scenario(folder / "scenario.yaml").with_records(records)
    load = scenario.only_load.load
    assert load is not None, "the scenario above has one"
    drive, logs, checks = (Measured(name=name, records=records) for name in ("drive with history", "logs", "checks"))

    def send(spec: DriveSpec) -> Path:
        with _measured(drive):
            drive_keyed_load(spark, load, SEED, spec, str(folder / "history"))
        return folder / "history"

    begin = _cpu()
    began_s = time.perf_counter()
    with load_progress(scenario.name, records) as progress:
        logs_files = TruthFiles(folder / "logs")
        evidence = run_over_tcp(scenario, SEED, send, progress, sender="Spark", load="measured", logs=logs_files)
    # The rest of the run: the cluster starts, comes to rest, and its logs are read.
    logs.seconds = time.perf_counter() - began_s - drive.seconds
    logs.cpu = {part: seconds - begin.get(part, 0) - drive.cpu.get(part, 0) for part, seconds in _cpu().items()}
    logs.driver_mb = peak_memory_mb(os.getpid())
    with _measured(checks):
        run = judged(evidence, engine=SparkEngine(spark))
    counts = run.verdict.counts
    if not run.judgement.met or (counts.acked, counts.stored) != (records, records):
        raise SystemExit(f"the run was not as expected: {run.verdict.validity}, {counts}, {run.verdict.reasons}")
    return [drive, logs, checks]


def _unrecorded(spark: SparkSession, records: int) -> Measured:
    """Send the same records with the same producers, and keep no history."""
    import pyarrow as pa

    from broker_client import Producer
    from broker_scenarios.arrow.keyed_load_table import KeyedLoadTable, value_column
    from broker_scenarios.workloads.keyed_load import LoadSpec
    from broker_sim.threaded_cluster import ThreadedCluster

    load = LoadSpec(topic=TOPIC, records=records, producers=PRODUCERS)
    measured = Measured(name="drive without history", records=records)
    with closing(ThreadedCluster(brokers=1, topics=[f"{TOPIC}:{PARTITIONS}:1"])) as cluster:
        servers = cluster.bootstrap_servers

        def send(batches: Any) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for producer_id in batch.column(0).to_pylist():
                    with Producer(bootstrap_servers=servers, acks="all") as producer:
                        for rows in KeyedLoadTable(load, SEED).share(producer_id):
                            values = value_column(rows["value_id"].to_numpy(), rows["size_bytes"].to_numpy())
                            producer.send_batch(TOPIC, pa.table({"key": rows["key"], "value": values}))
                        producer.flush(SESSION_SECONDS_MAX)
                yield batch

        with _measured(measured):
            spark.range(0, PRODUCERS, 1, PRODUCERS).mapInArrow(send, "id long").count()
    return measured


def _connector_session(rows: int, warm_up: int, servers: str, server_pid: int) -> list[Measured]:
    """Write rows with Spark's own connector."""
    from pyspark.sql import functions as f

    from broker_scenarios.spark.session import start_session

    spark = start_session("connector", task_slots=PRODUCERS, jars=connector_jars())

    def write(count: int) -> None:
        number = f.col("id").cast("string")
        frame = spark.range(0, count, 1, PRODUCERS).select(
            f.concat(f.lit("key-"), f.col("id") % 1000).alias("key"), f.rpad(number, RECORD_BYTES, "x").alias("value")
        )
        frame.write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": TOPIC}).save()

    write(warm_up)
    measured = Measured(name="connector", records=rows)
    with _measured(measured, server_pid):
        write(rows)
    return [measured]


@contextmanager
def _measured(part: Measured, server_pid: int | None = None) -> Iterator[None]:
    before, begin = _cpu(server_pid), time.perf_counter()
    yield
    part.seconds = time.perf_counter() - begin
    part.cpu = {name: seconds - before.get(name, 0.0) for name, seconds in _cpu(server_pid).items()}
    part.driver_mb = peak_memory_mb(os.getpid())


def _cpu(server_pid: int | None = None) -> dict[str, float]:
    """Return the CPU seconds of this process, of the JVM, of Spark's Python workers, and of a server."""
    found = {"driver": cpu_seconds(os.getpid()), "JVM": 0.0, "workers": 0.0}
    if server_pid is not None:
        found["server"] = cpu_seconds(server_pid)
    for pid in descendants(os.getpid()):
        try:
            part = "JVM" if Path(f"/proc/{pid}/comm").read_text().strip() == "java" else "workers"
            found[part] += cpu_seconds(pid)
        except OSError:
            continue  # It has ended.
    return found


if __name__ == "__main__":
    sys.exit(main())
