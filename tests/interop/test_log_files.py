"""Log directories and real Kafka's: its DumpLogSegments reads our files, we read its directory, it reads our logs."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_partition import TopicPartition as TopicPartitionName
from protocol_specs.records.record_batch import read_records
from tests.broker_sim.log.transactional_log import ABORT, COMMIT, marker, records, without_verification
from tests.interop.kafka_release import RELEASES
from tests.interop.prepared_release import java_command
from tests.interop.real_kafka import RealKafka, real_kafka

TOOL_SECONDS_MAX = 60
DEADLINE_SECONDS = 60
RECORDS = 400
# Small enough for several segments and many index entries.
SMALL_SEGMENTS = {"3.7.2": {"segment.bytes": "8192"}, "4.3.1": {"internal.segment.bytes": "8192"}}


def dump(release: str, *arguments: str) -> str:
    tool = "kafka.tools.DumpLogSegments" if release.startswith("3.") else "org.apache.kafka.tools.DumpLogSegments"
    command = [*java_command(release), tool, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(bootstrap_servers: str, values: range, *, idempotent: bool = True) -> None:
    """A cluster that took over a foreign log gives producer ids again that are known in the log."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": idempotent,
            "linger.ms": 0,
            "batch.num.messages": 3,
            "log_level": 0,
        }
    )
    for value in values:
        producer.produce("orders", value=struct.pack(">q", value), key=b"k%d" % (value % 7), partition=0)
        if value % 10 == 9:
            assert producer.flush(DEADLINE_SECONDS) == 0
    assert producer.flush(DEADLINE_SECONDS) == 0


def read(bootstrap_servers: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "readers", "log_level": 0})
    consumer.assign([TopicPartition("orders", 0, 0)])
    values = []
    while len(values) < count:
        message = consumer.poll(DEADLINE_SECONDS)
        assert message is not None, values
        assert message.error() is None, message.error()
        values.append(struct.unpack(">q", message.value() or b"")[0])
    consumer.close()
    return values


@pytest.fixture(scope="module", params=RELEASES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The directory of a log of several segments that one of our brokers has left in order."""
    folder = tmp_path_factory.mktemp("data")
    release: str = request.param
    with ThreadedCluster(brokers=1, release=release, data_dir=str(folder), topics=[]) as cluster:
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        config = {"index.interval.bytes": "512", **SMALL_SEGMENTS[release]}
        [created] = admin.create_topics([NewTopic("orders", 1, 1, config=config)]).values()
        created.result(DEADLINE_SECONDS)
        write(servers, range(RECORDS))
    return release, folder


@pytest.fixture(scope="module", params=RELEASES)
def transactional(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The directory of a log with an aborted, a committed and an open transaction."""
    folder = tmp_path_factory.mktemp("transactions")
    release: str = request.param
    with ThreadedCluster(
        brokers=1,
        release=release,
        data_dir=str(folder),
        topics=["orders"],
        config=without_verification(release),
    ) as cluster:
        orders = TopicPartitionName("orders", 0)

        def append() -> None:
            manager = cluster.cluster.broker(1).replica_manager
            for producer in (7, 8):
                manager.append_records(1, 1000, 1, [(orders, records(0, producer=producer, count=2))])
            manager.append_markers(1000, {orders: marker(ABORT, coordinator_epoch=3)}, 0)
            manager.append_markers(1000, {orders: marker(COMMIT, producer=8)}, 0)
            manager.append_records(1, 1000, 1, [(orders, records(2))])

        cluster.call(append)
    return release, folder


def test_aborted_and_open_transactions_are_dumped(transactional: tuple[str, Path]) -> None:
    release, folder = transactional
    [index] = log_files(folder, ".txnindex")
    text = dump(release, "--files", str(index))
    assert "producerId: 7 firstOffset: 0 lastOffset: 4 lastStableOffset: 2" in text
    text = dump(release, "--files", str(log_files(folder, ".snapshot")[-1]))
    assert re.search(r"producerId: 7 .*coordinatorEpoch: 3 currentTxnFirstOffset: OptionalLong\[6\]", text)
    assert re.search(r"producerId: 8 .*coordinatorEpoch: 0 currentTxnFirstOffset: OptionalLong.empty", text)
    text = dump(release, "--deep-iteration", "--files", str(log_files(folder, ".log")[0]))
    assert text.count("endTxnMarker: ") == 2


def log_files(folder: Path, suffix: str) -> list[Path]:
    return sorted((folder / "broker-1" / "orders-0").glob(f"*{suffix}"))


def test_segments_are_dumped(used: tuple[str, Path]) -> None:
    release, folder = used
    files = log_files(folder, ".log")
    assert len(files) > 2
    text = dump(release, "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, files)))
    assert "isvalid: true" in text
    assert "isvalid: false" not in text
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)]
    assert offsets == list(range(RECORDS))


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_indexes_are_sane(used: tuple[str, Path], suffix: str) -> None:
    release, folder = used
    files = [str(file) for file in log_files(folder, suffix) if file.stat().st_size]
    assert len(files) > 1
    text = dump(release, "--index-sanity-check", "--files", ",".join(files))
    assert text.count("passed sanity check") == len(files)
    text = dump(release, "--verify-index-only", "--files", ",".join(files))
    assert "mismatch" not in text
    assert "out of order" not in text
    text = dump(release, "--files", files[0])
    assert text.count("offset: ") > 5


def test_snapshots_are_dumped(used: tuple[str, Path]) -> None:
    release, folder = used
    files = log_files(folder, ".snapshot")
    text = dump(release, "--files", str(files[-1]))
    assert re.search(rf"producerId: \d+ producerEpoch: 0 .*lastSequence: {RECORDS - 1} lastOffset: {RECORDS - 1}", text)
    assert int(files[-1].name.removesuffix(".snapshot")) == RECORDS


def test_the_metadata_log_is_dumped(used: tuple[str, Path]) -> None:
    release, folder = used
    file = folder / "controller" / "__cluster_metadata-0" / "00000000000000000000.log"
    text = dump(release, "--cluster-metadata-decoder", "--files", str(file))
    assert '"type":"TOPIC_RECORD"' in text
    assert '"name":"orders"' in text
    assert '"type":"REGISTER_BROKER_RECORD"' in text
    assert "isvalid: false" not in text


@pytest.mark.parametrize("ending", ["orderly", "killed"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_real_brokers_log_is_served_by_ours(release: str, ending: str, tmp_path: Path) -> None:
    with real_kafka(release) as real:
        admin = AdminClient({"bootstrap.servers": real.bootstrap_servers, "log_level": 0})
        config = {"index.interval.bytes": "512"}
        [created] = admin.create_topics([NewTopic("orders", 1, 1, config=config)]).values()
        created.result(DEADLINE_SECONDS)
        write(real.bootstrap_servers, range(RECORDS))
        if ending == "orderly":
            end_in_order(real)
        else:
            real.kill(1)
        source = Path(real.log_files("orders")[0]).parent
        data = tmp_path / "data"
        with ThreadedCluster(brokers=1, release=release, data_dir=str(data), topics=["orders"]) as cluster:
            assert read_nothing(cluster)
        target = data / "broker-1" / "orders-0"
        topic_id = (target / "partition.metadata").read_bytes()
        shutil.rmtree(target)
        shutil.copytree(source, target)
        (target / "partition.metadata").write_bytes(topic_id)
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            shutil.copy(source.parent / name, data / "broker-1" / name)
        clean = data / "broker-1" / ".kafka_cleanshutdown"
        assert clean.is_file()
        if ending == "killed":
            clean.unlink()
    with ThreadedCluster(brokers=1, release=release, data_dir=str(data)) as cluster:
        assert read(cluster.bootstrap_servers, RECORDS) == list(range(RECORDS))
        [producer] = cluster.call(
            lambda: list(cluster.cluster.log_of(1, "orders", 0).producers.active_producers.values())
        )
        assert producer.last_sequence == RECORDS - 1
        write(cluster.bootstrap_servers, range(RECORDS, RECORDS + 10), idempotent=False)
        assert read(cluster.bootstrap_servers, RECORDS + 10)[-1] == RECORDS + 9


def end_in_order(real: RealKafka) -> None:
    process = real._processes.pop(1)
    process.terminate()
    process.wait(DEADLINE_SECONDS)


def read_nothing(cluster: ThreadedCluster) -> bool:
    log = cluster.cluster.log_of(1, "orders", 0)
    return log is not None and [record for batch in log.batches() for record in read_records(batch.data)] == []


@pytest.mark.parametrize("ending", ["orderly", "killed"])
def test_our_log_is_served_by_a_real_broker(used: tuple[str, Path], ending: str) -> None:
    release, folder = used
    source = folder / "broker-1" / "orders-0"
    with real_kafka(release) as real:
        admin = AdminClient({"bootstrap.servers": real.bootstrap_servers, "log_level": 0})
        [created] = admin.create_topics([NewTopic("orders", 1, 1)]).values()
        created.result(DEADLINE_SECONDS)
        write(real.bootstrap_servers, range(1))
        end_in_order(real)
        target = Path(real.log_files("orders")[0]).parent
        topic_id = (target / "partition.metadata").read_bytes()
        shutil.rmtree(target)
        shutil.copytree(source, target)
        (target / "partition.metadata").write_bytes(topic_id)
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            lines = (target.parent / name).read_text().splitlines()
            kept = [f"orders 0 {RECORDS}" if line.startswith("orders 0 ") else line for line in lines]
            (target.parent / name).write_text("".join(f"{line}\n" for line in kept))
        if ending == "killed":
            (target.parent / ".kafka_cleanshutdown").unlink()
        real.restart(1)
        assert read(real.bootstrap_servers, RECORDS) == list(range(RECORDS))
        write(real.bootstrap_servers, range(RECORDS, RECORDS + 10), idempotent=False)
        assert read(real.bootstrap_servers, RECORDS + 10)[-1] == RECORDS + 9
