"""Our producer's messages of magic 0 and 1, in every codec, as consumers of that age read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_client import Producer
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.records.record_set import iterate_any, read_any
from tests.interop.kafka_release import clients_folder
from tests.interop.old_clients_jvm import OldClientsJvm, old_clients_jvm
from tests.interop.old_pythons import interpreter_with

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent
TOPIC = "aged"
RECORDS = 40
CODECS = ("none", "gzip", "snappy", "lz4")
SECONDS_MAX = 30
FIRST_TIMESTAMP_MS = 1_600_000_000_000


@pytest.fixture(scope="module")
def jvm() -> Iterator[OldClientsJvm]:
    clients_folder("0.9.0.1", "0.10.2.2", "3.0.2")
    with old_clients_jvm() as started:
        yield started


@pytest.mark.parametrize("release", ["0.9.0.1", "0.10.2.2"])
def test_java_consumers_of_its_time_read_what_our_producer_wrote(jvm: OldClientsJvm, release: str) -> None:
    with ThreadedCluster(brokers=1, release=release, topics=[f"{TOPIC}:1:1"]) as cluster:
        written = write(cluster)
        assert what_is_stored(cluster) == ({behaviour_of(release).newest_magic}, set(CODECS))
        lines = jvm.run(release, "OldConsumer", cluster.bootstrap_servers, TOPIC, "1", str(len(written)))
    assert lines == [f"read {text}" for text in written]


def test_kafka_python_1_4_7_reads_what_our_producer_wrote_to_0_8_2() -> None:
    requirements = ["kafka-python==1.4.7", "python-snappy==0.7.3", "lz4>=4.3", "xxhash>=3"]
    python = interpreter_with("kafka-python-1.4.7", requirements, sys.executable)
    with ThreadedCluster(brokers=1, release="0.8.2.2", topics=[f"{TOPIC}:1:1"]) as cluster:
        written = write(cluster)
        assert what_is_stored(cluster) == ({0}, set(CODECS))
        program = [python, str(FOLDER / "old_python" / "kafka_python_reader.py")]
        done = subprocess.run(
            [*program, cluster.bootstrap_servers, TOPIC, str(len(written)), "0.8.2"],
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * SECONDS_MAX,
        )
    assert done.stdout.splitlines() == [f"read {text}" for text in written], done.stderr


def test_wrappers_end_where_those_of_java_3_0_do(jvm: OldClientsJvm) -> None:
    cases = [(codec, size) for codec in ("gzip", "lz4") for size in (300, 500, 777, 2000)]
    topics = {case: (f"java-{case[0]}-{case[1]}", f"ours-{case[0]}-{case[1]}") for case in cases}
    made = [f"{topic}:1:1" for both in topics.values() for topic in both]
    with ThreadedCluster(brokers=1, release="0.10.2.2", topics=made) as cluster:
        reported = [f"{codec}:{size}:{topics[codec, size][0]}" for codec, size in cases]
        jvm.run("3.0.2", "OldBatches", cluster.bootstrap_servers, str(RECORDS), *reported)
        for codec, size in cases:
            with Producer(
                bootstrap_servers=cluster.bootstrap_servers,
                enable_idempotence=False,
                linger_ms=20_000,
                batch_size=size,
                compression_type=codec,
            ) as producer:
                for number in range(RECORDS):
                    producer.send(
                        topics[codec, size][1],
                        bytes(10 + 7 * number % 50),
                        key=bytes(number) if number % 3 else None,
                        partition=0,
                        timestamp_ms=FIRST_TIMESTAMP_MS + number,
                    )
                producer.flush(SECONDS_MAX)
        # The first wrapper alone is no matter of time: the next ones are as the ratio of those that went was.
        first = {case: [len(read_any(wrappers(cluster, topic)[0])) for topic in both] for case, both in topics.items()}
    assert all(java == ours for java, ours in first.values()), first
    assert len({java for java, _ in first.values()}) == len({size for _, size in cases})


def wrappers(cluster: ThreadedCluster, topic: str) -> list[bytes]:
    leader = cluster.call(cluster.cluster.leader_of, topic, 0)
    log = cluster.cluster.log_of(leader, topic, 0)
    assert log is not None
    return [bytes(message) for batch in log.batches() for _, message in iterate_any(batch.data)]


def write(cluster: ThreadedCluster) -> list[str]:
    """Send records in every codec; return their values."""
    written: list[str] = []
    for codec in CODECS:
        texts = [f"{codec}-{number}-{'x' * 100}" for number in range(RECORDS)]
        with Producer(
            bootstrap_servers=cluster.bootstrap_servers,
            enable_idempotence=False,
            compression_type=codec,
            linger_ms=50,
            value_serializer="StringSerializer",
        ) as producer:
            for future in [producer.send(TOPIC, text, key=b"key") for text in texts]:
                future.result(SECONDS_MAX)
        written += texts
    return written


def what_is_stored(cluster: ThreadedCluster) -> tuple[set[int], set[str]]:
    """The formats and the codecs in the leader's log."""
    headers = [header for wrapper in wrappers(cluster, TOPIC) for header, _ in iterate_any(wrapper)]
    return {header.magic for header in headers}, {header.codec.type_name for header in headers}
