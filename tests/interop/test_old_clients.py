"""Clients of each age against brokers of their time: every codec there and back, and a leader that dies meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.records.record_set import iterate_any, read_any
from tests.interop.kafka_release import clients_folder
from tests.interop.old_clients_jvm import OldClientsJvm, old_clients_jvm
from tests.interop.old_confluent_kafka import confluent_kafka_1_9_2
from tests.interop.old_pythons import interpreter_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = Path(__file__).parent
TOPIC = "ages"
PARTITIONS = 3
RECORDS = 60
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RUN_SECONDS_MAX = 150
JAVA_CLIENTS = ("0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.4.1", "2.8.2", "3.0.2")
DEATH_IS_SEEN_SOON = {
    True: {"zookeeper.session.timeout.ms": "1000"},
    False: {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"},
}
"""The lines of brokers with ZooKeeper, and of those without."""


def codecs_of(release: str, without: str = "") -> list[str]:
    known = CODECS[: behaviour_of(release).newest_codec + 1]
    return [codec for codec in known if codec != without]


def kill_the_leader(cluster: ThreadedCluster) -> None:
    leader = cluster.call(cluster.cluster.leader_of, TOPIC, 0)
    cluster.call(cluster.cluster.kill, leader)


def run_while_a_leader_dies(cluster: ThreadedCluster, command: Sequence[str]) -> list[str]:
    """Return the output of a program; when it prints "ready", the leader of its first partition dies."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = threading.Timer(RUN_SECONDS_MAX, process.kill)
        deadline.start()
        try:
            assert process.stdout is not None
            assert process.stdin is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line.strip())
                if lines[-1] == "ready":
                    kill_the_leader(cluster)
                    process.stdin.write("dead\n")
                    process.stdin.flush()
            _, errors = process.communicate(timeout=RUN_SECONDS_MAX)
        finally:
            deadline.cancel()
            process.kill()
    assert process.returncode == 0, errors
    return lines


def lines_of(lines: list[str], verb: str) -> list[str]:
    return sorted(line.partition(" ")[2] for line in lines if line.startswith(f"{verb} "))


def expected(codecs: Sequence[str]) -> list[str]:
    return sorted(f"{name}-{number}-{'x' * 100}" for name in (*codecs, "moved") for number in range(RECORDS))


def stored(cluster: ThreadedCluster) -> list[str]:
    """The values in the leaders' logs: the truth."""
    values: list[str] = []
    for index in range(PARTITIONS):
        leader = cluster.call(cluster.cluster.leader_of, TOPIC, index)
        log = cluster.cluster.log_of(leader, TOPIC, index)
        assert log is not None
        for batch in log.batches():
            values.extend((record.value or b"").decode() for record in read_any(batch.data))
    return sorted(values)


def magics(cluster: ThreadedCluster) -> list[int]:
    """The message formats in the leaders' logs."""
    found: list[int] = []
    for index in range(PARTITIONS):
        leader = cluster.call(cluster.cluster.leader_of, TOPIC, index)
        log = cluster.cluster.log_of(leader, TOPIC, index)
        assert log is not None
        found.extend(header.magic for batch in log.batches() for header, _ in iterate_any(batch.data))
    return sorted(set(found))


def cluster_of(release: str, **settings: str) -> ThreadedCluster:
    config = {"min.insync.replicas": "1", **DEATH_IS_SEEN_SOON[behaviour_of(release).zookeeper]}
    config.update({name.replace("_", "."): text for name, text in settings.items()})
    return ThreadedCluster(brokers=3, release=release, topics=[f"{TOPIC}:{PARTITIONS}:3"], config=config)


@pytest.fixture(scope="module")
def jvm() -> Iterator[OldClientsJvm]:
    clients_folder(*JAVA_CLIENTS)
    with old_clients_jvm() as started:
        yield started


@pytest.mark.parametrize("release", JAVA_CLIENTS)
def test_java_clients_work_against_the_release_of_their_time(jvm: OldClientsJvm, release: str) -> None:
    codecs = codecs_of(release)
    # 0.8 and 0.9 know no idempotence; their clients only warn of configurations that they do not know.
    settings = ["enable.idempotence=true"] if behaviour_of(release).newest_magic == 2 else []
    with cluster_of(release) as cluster:
        topic = [cluster.bootstrap_servers, TOPIC, str(PARTITIONS)]
        arguments = [*topic, ",".join(codecs), *settings]
        lines = jvm.run(release, "OldProducer", *arguments, when_ready=lambda: kill_the_leader(cluster))
        assert lines_of(lines, "sent") == expected(codecs)
        found = stored(cluster)
        # A retry without idempotence may store a batch twice whose response was lost.
        assert sorted(set(found)) == expected(codecs)
        assert not settings or found == expected(codecs)
        if release.startswith("0.8"):
            return  # its KafkaConsumer reads nothing yet
        assert lines_of(jvm.run(release, "OldConsumer", *topic, str(len(found))), "read") == found


@pytest.mark.parametrize(
    ("client", "release", "version", "magic"),
    [
        ("1.1.1", "1.1.1", "0.9.0", 0),
        ("2.8.2", "2.8.2", "0.10.2", 1),
        ("0.9.0.1", "2.8.2", "2.8", 2),
        ("0.10.2.2", "3.0.2", "3.0", 2),
        ("3.0.2", "1.1.1", "0.10.2", 1),
    ],
)
def test_java_clients_read_what_brokers_keep_in_another_message_format(
    jvm: OldClientsJvm, client: str, release: str, version: str, magic: int
) -> None:
    known = min(behaviour_of(client).newest_codec, behaviour_of(release).newest_codec)
    codecs = [codec for codec in CODECS[: known + 1] if codec != "zstd"]  # no old format has it
    with cluster_of(release, log_message_format_version=version) as cluster:
        topic = [cluster.bootstrap_servers, TOPIC, str(PARTITIONS)]
        arguments = [*topic, ",".join(codecs), "enable.idempotence=false"]
        lines = jvm.run(client, "OldProducer", *arguments, when_ready=lambda: kill_the_leader(cluster))
        assert lines_of(lines, "sent") == expected(codecs)
        assert magics(cluster) == [magic]
        found = stored(cluster)
        assert sorted(set(found)) == expected(codecs)
        assert lines_of(jvm.run(client, "OldConsumer", *topic, str(len(found))), "read") == found


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("0.8.2.2", "0.8.2"),
        ("0.9.0.1", "0.9"),
        ("0.10.2.2", "0.10"),
        ("0.11.0.3", "0.11"),
        ("1.1.1", "1.0"),
        ("3.7.2", "0.9"),
        ("4.3.1", "1.0"),
    ],
)
def test_kafka_python_1_4_7_works_with_its_old_api_versions(release: str, version: str) -> None:
    requirements = ["kafka-python==1.4.7", "python-snappy==0.7.3", "lz4>=4.3", "xxhash>=3"]
    python = interpreter_with("kafka-python-1.4.7", requirements, sys.executable)
    program = [python, str(FOLDER / "old_python" / "kafka_python_client.py")]
    _check_python_client(program, release, version, without="zstd")


@pytest.mark.parametrize("release", ["0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.2.3", "4.3.1"])
def test_confluent_kafka_1_9_2_works_against_releases_before_and_after_it(release: str) -> None:
    python = confluent_kafka_1_9_2()
    fallback = "" if behaviour_of(release).newest_magic else ".".join(release.split(".")[:3])
    _check_python_client([python, str(FOLDER / "old_python" / "confluent_kafka_client.py")], release, fallback)


def _check_python_client(program: Sequence[str], release: str, version: str, without: str = "") -> None:
    codecs = codecs_of(release, without)
    with cluster_of(release) as cluster:
        arguments = [cluster.bootstrap_servers, TOPIC, str(PARTITIONS), ",".join(codecs), version]
        lines = run_while_a_leader_dies(cluster, [*program, *arguments])
        assert lines_of(lines, "sent") == expected(codecs)
        found = stored(cluster)
        assert sorted(set(found)) == expected(codecs)
        assert set(lines_of(lines, "read")) == set(found)
