"""Kafka's tools for transactions, on our brokers of their release: load, copies, inspection, abort, a dump."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_partition import TopicPartition as TopicPartitionName
from tests.broker_sim.log.transactional_log import records, without_verification
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools
from tests.interop.prepared_release import java_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STATE_TOPIC = "__transaction_state"
RECORDS = 300
SECONDS_MAX = 60
CONSUMER = {"3.7.2": "ConsoleConsumer", "4.3.1": "consumer.ConsoleConsumer"}
DUMP = {"3.7.2": "kafka.tools.DumpLogSegments", "4.3.1": "org.apache.kafka.tools.DumpLogSegments"}
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
"""By their number in the log. 3.7 prints the name and 4.3 the record as it is."""


class Used(NamedTuple):
    """A cluster on disk, the tools of its release, and a transaction on it that stays open."""

    tools: Tools
    folder: Path
    open_transaction: Producer


def transactional_producer(bootstrap_servers: str, transactional_id: str) -> Producer:
    settings = {"bootstrap.servers": bootstrap_servers, "transactional.id": transactional_id, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(SECONDS_MAX)
    return producer


@pytest.fixture(scope="module", params=RELEASES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    folder = tmp_path_factory.mktemp("data")
    topics = ["source:1:1", "copies:1:1", "load:1:1", "held:1:1"]
    config = {"transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1"}
    with ThreadedCluster(
        brokers=1, release=request.param, topics=topics, config=config, data_dir=str(folder), quick_groups=True
    ) as cluster:
        producer = transactional_producer(cluster.bootstrap_servers, "orders-writer")
        for transaction in range(3):
            producer.begin_transaction()
            for number in range(RECORDS // 3):
                producer.produce("source", f"{transaction} {number}".encode())
            producer.flush(SECONDS_MAX)
            if transaction == 1:
                producer.abort_transaction(SECONDS_MAX)
            else:
                producer.commit_transaction(SECONDS_MAX)
        held = transactional_producer(cluster.bootstrap_servers, "holder")
        held.begin_transaction()
        held.produce("held", b"open")
        assert held.flush(SECONDS_MAX) == 0
        yield Used(Tools(request.param, cluster.bootstrap_servers), folder, held)


def values(used: Used, topic: str, isolation: str) -> list[bytes]:
    """Return the values of a topic's one partition, up to where a consumer of this isolation level ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": used.tools.bootstrap_servers,
            "group.id": "unused",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while True:
        message = consumer.poll(SECONDS_MAX)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            consumer.close()
            return found
        found.append(message.value() or b"")


def table(output: str) -> list[dict[str, str]]:
    """Return the rows of a table of kafka-transactions, by column."""
    header, *rows = (line.split("\t") for line in output.splitlines() if line.strip())
    names = [name.strip() for name in header]
    return [dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in rows]


def test_the_console_consumer_reads_what_was_committed(used: Used) -> None:
    for isolation, transactions in (("read_committed", "02"), ("read_uncommitted", "012")):
        count = len(transactions) * RECORDS // 3
        until = ("--from-beginning", "--max-messages", str(count), "--isolation-level", isolation)
        output = used.tools.run(CONSUMER[used.tools.release], "--topic", "source", *until)
        read = Counter(line.split()[0] for line in output.splitlines())
        assert read == dict.fromkeys(transactions, RECORDS // 3)


def test_producer_performance_writes_in_transactions(used: Used) -> None:
    load = ("--topic", "load", "--num-records", "2000", "--record-size", "100", "--throughput", "4000")
    transactions = ("--transaction-duration-ms", "50", "--transactional-id", "load-writer")
    servers = f"bootstrap.servers={used.tools.bootstrap_servers}"
    output = used.tools.run_bare("ProducerPerformance", *load, *transactions, "--producer-props", servers)
    assert "2000 records sent" in output
    assert len(values(used, "load", "read_committed")) == 2000


def test_the_message_copier_copies_each_committed_record_once(used: Used) -> None:
    copy = ("--input-topic", "source", "--input-partition", "0", "--output-topic", "copies")
    arguments = ("--consumer-group", "copiers", "--transaction-size", "20", "--transactional-id", "copier")
    servers = ("--broker-list", used.tools.bootstrap_servers)
    output = used.tools.run_bare(
        "TransactionalMessageCopier",
        *copy,
        *arguments,
        *servers,
        "--max-messages",
        str(2 * RECORDS // 3),
        "--enable-random-aborts",
        "--use-group-metadata",
    )
    last = json.loads(output.splitlines()[-1])
    assert (last["stage"], last["totalProcessed"], last["remaining"]) == ("ShutdownComplete", 2 * RECORDS // 3, 0)
    assert values(used, "copies", "read_committed") == values(used, "source", "read_committed")


def test_kafka_transactions_lists_describes_and_aborts(used: Used) -> None:
    def run(*arguments: str) -> list[dict[str, str]]:
        return table(used.tools.run("TransactionsCommand", *arguments))

    states = {row["TransactionalId"]: row["TransactionState"] for row in run("list")}
    assert states["orders-writer"] == "CompleteCommit"
    assert states["holder"] == "Ongoing"
    [described] = run("describe", "--transactional-id", "holder")
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", "held-0")
    where = ("--topic", "held", "--partition", "0")
    [producer] = run("describe-producers", *where)
    assert (producer["ProducerId"], producer["LastSequence"]) == (described["ProducerId"], "0")
    assert producer["CurrentTransactionStartOffset"] == "0"
    used.tools.run("TransactionsCommand", "abort", *where, "--start-offset", "0")
    [producer] = run("describe-producers", *where)
    assert producer["CurrentTransactionStartOffset"] == "None"
    assert values(used, "held", "read_committed") == []
    assert values(used, "held", "read_uncommitted") == [b"open"]


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_transactions_finds_and_aborts_what_the_coordinator_does_not_know(release: str) -> None:
    an_hour_ago_ms = int(time.time() * 1000) - 3_600_000
    with ThreadedCluster(
        brokers=1, release=release, topics=["held:1:1", "hanging:1:1"], config=without_verification(release)
    ) as cluster:
        known = transactional_producer(cluster.bootstrap_servers, "holder")
        known.begin_transaction()
        known.produce("held", b"open", timestamp=an_hour_ago_ms)
        assert known.flush(SECONDS_MAX) == 0
        unknown = (TopicPartitionName("hanging", 0), records(0, producer=4_000, epoch=3, time_ms=an_hour_ago_ms))
        cluster.call(cluster.cluster.broker(1).replica_manager.append_records, 1, 1_000, 1, [unknown])
        tools = Tools(release, cluster.bootstrap_servers)

        def hanging() -> list[tuple[str, str, str]]:
            rows = table(tools.run("TransactionsCommand", "find-hanging", "--broker-id", "1"))
            return [(row["Topic"], row["ProducerId"], row["StartOffset"]) for row in rows]

        assert hanging() == [("hanging", "4000", "0")]
        tools.run("TransactionsCommand", "abort", "--topic", "hanging", "--partition", "0", "--start-offset", "0")
        assert hanging() == []


def test_kafka_dump_log_decodes_the_transaction_state(used: Used) -> None:
    [segment] = used.folder.rglob(f"{STATE_TOPIC}-0/*.log")
    command = [*java_command(used.tools.release), DUMP[used.tools.release], "--transaction-log-decoder"]
    done = subprocess.run(
        [*command, "--files", str(segment)], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for number, state in enumerate(STATES):
        assert f"state={state}," in done.stdout or f'"transactionStatus":{number},' in done.stdout, state
    assert "orders-writer" in done.stdout
