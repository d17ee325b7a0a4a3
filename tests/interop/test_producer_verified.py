"""The Java consumer reads the records that our producer has acknowledged: codecs, TLS, tables, transactions.

One JVM a release is the broker and one the reader, for all tests.
"""

from __future__ import annotations

import base64
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from broker_client import Producer
from broker_client.admin import Admin
from tests.interop.kafka_release import RELEASES, java_tool
from tests.interop.kafka_with_tls import KafkaWithTls, known, trusting
from tests.interop.prepared_release import java_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_client.records import RecordMetadata
    from tests.certificate_authority import Certificates

PROGRAM = Path(__file__).parent / "java" / "ReadBack.java"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LISTENERS = ("PLAINTEXT", "SECURE", "KNOWN")
PARTITIONS = 3
RECORDS = 200
TRANSACTIONS = 30
READ_SECONDS_MAX = 150
FIRST_TIMESTAMP_MS = 1_700_000_000_000


@dataclass(slots=True, frozen=True, order=True)
class Stored:
    """A record at its place."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(slots=True)
class Verified:
    """By name: the records that our producer has acknowledged, and those that the Java consumer has read."""

    acknowledged: dict[str, list[Stored]] = field(default_factory=dict)
    read: dict[str, list[Stored]] = field(default_factory=dict)


@pytest.fixture(scope="module", params=RELEASES)
def verified(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[Verified]:
    java_tool("javac")  # a runtime alone cannot launch a source file
    with tempfile.TemporaryDirectory(prefix="kafka-verified-") as folder:
        kafka = KafkaWithTls(request.param, Path(folder), certificates)
        try:
            kafka.start()
            yield verify(kafka, certificates)
        finally:
            kafka.stop()


def verify(kafka: KafkaWithTls, certificates: Certificates) -> Verified:
    """Produce everything, then read it all with one JVM, while the last transaction is still open."""
    plain = {"bootstrap.servers": kafka.bootstrap_servers_of("PLAINTEXT")}
    options: dict[str, dict[str, Any]] = {
        "PLAINTEXT": plain,
        "SECURE": trusting(certificates) | {"bootstrap.servers": kafka.bootstrap_servers_of("SECURE")},
        "KNOWN": known(certificates) | {"bootstrap.servers": kafka.bootstrap_servers_of("KNOWN")},
    }
    names = [f"{listener}-{codec}" for listener in LISTENERS for codec in CODECS]
    with Admin(**plain) as admin:
        for name in [*names, "table", "transactions"]:
            # The records are old: a broker looks for such 30 s after its start.
            admin.create_topic(name, partitions=PARTITIONS, replication_factor=1, configs={"retention.ms": -1})
    result = Verified()
    for listener in LISTENERS:
        for codec in CODECS:
            result.acknowledged[f"{listener}-{codec}"] = produce(options[listener], f"{listener}-{codec}", codec)
    result.acknowledged["table"] = produce_table(plain)
    with Producer(plain, transactional_id="verified", compression_type="lz4", linger_ms=5) as producer:
        result.acknowledged["committed"], result.acknowledged["all"] = produce_transactions(producer)
        # What the Java client takes as a file, ours takes as text too.
        of_java = options | {
            "KNOWN": options["SECURE"]
            | {
                "bootstrap.servers": kafka.bootstrap_servers_of("KNOWN"),
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(certificates.client.file),
            }
        }
        readings = [(name, name, of_java[name.partition("-")[0]]) for name in names]
        readings += [
            ("table", "table", plain),
            ("committed", "transactions", plain | {"isolation.level": "read_committed"}),
            ("all", "transactions", plain),
        ]
        result.read = read_by_java(kafka.release, readings)
    return result


def produce(options: Mapping[str, Any], topic: str, codec: str) -> list[Stored]:
    """Records with and without keys, values and headers, idempotently; return the acknowledged records."""
    records = [
        (
            f"key {number % 20}".encode() if number % 3 else None,
            b"value %d " % number * (number % 60) if number % 11 else None,
            (("number", b"%d" % number), ("nothing", None)) if number % 2 else (),
            FIRST_TIMESTAMP_MS + number,
        )
        for number in range(RECORDS)
    ]
    with Producer(options, compression_type=codec, batch_size=4_000, linger_ms=5) as producer:
        futures = [
            producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp)
            for key, value, headers, timestamp in records
        ]
        producer.flush(30)
    places: list[RecordMetadata] = [future.result(0) for future in futures]
    return sorted(
        Stored(place.partition, place.offset, timestamp, key, value, headers)
        for place, (key, value, headers, timestamp) in zip(places, records, strict=True)
    )


def produce_table(options: Mapping[str, Any]) -> list[Stored]:
    """The same by the columnar face."""
    rows = pa.table(
        {
            "value": [b"row %d" % number if number % 11 else None for number in range(RECORDS)],
            "key": [b"key %d" % (number % 20) if number % 3 else None for number in range(RECORDS)],
            "timestamp": [FIRST_TIMESTAMP_MS + number for number in range(RECORDS)],
        }
    )
    with Producer(options, compression_type="zstd") as producer:
        acknowledged = producer.send_batch("table", rows).result(30)
    assert acknowledged["error"].null_count == RECORDS
    return sorted(
        Stored(place["partition"], place["offset"], row["timestamp"], row["key"], row["value"])
        for place, row in zip(acknowledged.to_pylist(), rows.to_pylist(), strict=True)
    )


def produce_transactions(producer: Producer) -> tuple[list[Stored], list[Stored]]:
    """Every third is aborted, and the last is left open; what was committed, and what was acknowledged at all."""
    committed, written = [], []
    producer.init_transactions()
    for transaction in range(TRANSACTIONS + 1):
        producer.begin_transaction()
        values = [b"%d of %d" % (number, transaction) for number in range(2 * PARTITIONS)]
        futures = [
            producer.send("transactions", value, partition=number % PARTITIONS, timestamp_ms=FIRST_TIMESTAMP_MS)
            for number, value in enumerate(values)
        ]
        producer.flush(30)
        places: list[RecordMetadata] = [future.result(0) for future in futures]
        stored = [
            Stored(place.partition, place.offset, FIRST_TIMESTAMP_MS, None, value)
            for place, value in zip(places, values, strict=True)
        ]
        written += stored
        if transaction < TRANSACTIONS and transaction % 3:
            producer.commit_transaction()
            committed += stored
        elif transaction < TRANSACTIONS:
            producer.abort_transaction()
    return sorted(committed), sorted(written)


def read_by_java(release: str, readings: Sequence[tuple[str, str, Mapping[str, Any]]]) -> dict[str, list[Stored]]:
    """Return the records that the Java consumer reads, by the reading's name."""
    lines = [
        "\t".join([name, topics, *(f"{key}={value}" for key, value in configs.items())])
        for name, topics, configs in readings
    ]
    run = subprocess.run(
        [*java_command(release), str(PROGRAM)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=READ_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stdout[-2_000:] + run.stderr
    read: dict[str, list[Stored]] = {name: [] for name, _, _ in readings}
    for line in run.stdout.splitlines():
        name, _, partition, offset, timestamp, key, value, headers = line.split(" ")
        pairs = [pair.split(":") for pair in headers.split(",") if pair]
        read[name].append(
            Stored(
                int(partition),
                int(offset),
                int(timestamp),
                bytes_of(key),
                bytes_of(value),
                tuple((header, bytes_of(content)) for header, content in pairs),
            )
        )
    return {name: sorted(records, key=lambda one: (one.partition, one.offset)) for name, records in read.items()}


def bytes_of(word: str) -> bytes | None:
    return None if word == "-" else base64.b64decode(word[1:])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("listener", LISTENERS)
def test_java_reads_what_was_acknowledged(verified: Verified, listener: str, codec: str) -> None:
    name = f"{listener}-{codec}"
    assert len(verified.acknowledged[name]) == RECORDS
    assert verified.read[name] == verified.acknowledged[name]


def test_java_reads_the_rows_of_a_table(verified: Verified) -> None:
    assert verified.read["table"] == verified.acknowledged["table"]


def test_java_reads_what_was_committed_and_nothing_else(verified: Verified) -> None:
    assert len(verified.acknowledged["committed"]) == TRANSACTIONS * 2 // 3 * 2 * PARTITIONS
    assert verified.read["committed"] == verified.acknowledged["committed"]


def test_java_reads_aborted_and_open_transactions_on_request(verified: Verified) -> None:
    assert len(verified.acknowledged["all"]) == (TRANSACTIONS + 1) * 2 * PARTITIONS
    assert verified.read["all"] == verified.acknowledged["all"]
