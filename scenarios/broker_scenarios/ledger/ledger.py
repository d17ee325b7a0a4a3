"""A ledger of what a test's own clients sent and consumed, compared with what a simulated cluster holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.circumstances import circumstances_of
from broker_scenarios.history import EventType
from broker_scenarios.ledger.book import LedgerBook
from broker_scenarios.ledger.judgement import judge_book, read_brokers, wait_until_replicated
from broker_scenarios.ledger.ledger_verdict import LedgerViolation
from broker_sim.errors import nearest
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_scenarios.ledger.book import SentRecord
    from broker_scenarios.ledger.judgement import BrokerState
    from broker_scenarios.ledger.ledger_verdict import LedgerVerdict
    from broker_sim.running_cluster import AttachedCluster

__all__ = ["Ledger"]

__tracebackhide__ = True  # pytest shows the line of the test that checked a ledger, and no frame of this module

Client = TypeVar("Client")

SETTLED_MS: Final = 5_000.0
"""The longest wait for followers that fetch the last records, before a verdict."""
STRICT: Final[Mapping[str, Any]] = {
    "acks": "all",
    "enable.idempotence": True,
    "replication.factor": 2,
    "min.insync.replicas": 2,
}
"""The promises of a ledger that states none: no loss, no copy and no other order is permitted."""


class Ledger:
    """Records what clients report, and judges it.

    Args:
        cluster: the cluster that the clients use: a ThreadedCluster, or one of another process (`--kafka-control`,
            `--kafka-bootstrap`), whose logs consumers read.
        topics: the topics that the ledger covers; records of others are left out.
        promises: Kafka's configurations and claims as in a promises file, such as `{"acks": "1"}`: what they permit
            breaks nothing. Without any, each lost, duplicated and reordered record breaks the ledger.
        other_producers: records in the logs that the ledger has no send of are from producers that it does not follow.
            A ledger without any send assumes that.

    Raises:
        ScenarioError: no topic is named, or a promise is unknown.
    """

    def __init__(
        self,
        cluster: ThreadedCluster | AttachedCluster,
        *topics: str,
        promises: Mapping[str, Any] | None = None,
        other_producers: bool = False,
    ) -> None:
        if not topics:
            raise ScenarioError("a ledger needs the name of a topic, such as Ledger(cluster, 'orders')")
        self.promises = {**STRICT, **(promises or {})}
        circumstances_of(self.promises)
        self.checked = False
        """True after `check` or `verdict`."""
        self._cluster = cluster
        self._other_producers = other_producers
        now_us = _journal_clock(cluster)
        self._started_us = now_us()
        self.book = LedgerBook(topics, now_us)

    def __repr__(self) -> str:
        return f"Ledger({', '.join(self.book.topics)})"

    def wrap(self, client: Client, name: str | None = None) -> Client:
        """Return a client that is used in place of `client` and hands in all that it sends or consumes.

        It is a producer or consumer of confluent-kafka, kafka-python, aiokafka or broker_client; calls, callbacks and
        errors are as without the ledger. `name` is the client's lifetime in the findings, by default `producer-1` and
        so on.

        Raises:
            ScenarioError: the client is of another library.
        """
        from broker_scenarios.ledger.adapters import wrapped

        found: Client = wrapped(client, self.book, name)
        return found

    # The reports of a producer.

    def sent(
        self,
        value: bytes | str | None,
        *,
        key: bytes | str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        producer: str = "producer",
    ) -> SentRecord:
        """Record that a producer is about to send a record; texts are encoded as UTF-8.

        `producer` is one lifetime of a client: the order of its records is compared. Returns the record for `acked` and
        `failed`.

        Raises:
            ScenarioError: the ledger has another topic, or several.
        """
        return self.book.send(producer, self._topic(topic), (_bytes(key), _bytes(value)), partition)

    def acked(self, record: SentRecord, *, partition: int | None = None, offset: int | None = None) -> None:
        """Record that a record was acknowledged, with its place if the client reported it."""
        self.book.complete(record, EventType.OK, partition, offset)

    def failed(self, record: SentRecord, error: object = None, *, certain: bool = False) -> None:
        """Record that a send ended with an error.

        `certain`: the record is certainly not stored. A time-out is not certain.
        """
        text = None if error is None else str(error)
        self.book.complete(record, EventType.FAIL if certain else EventType.INFO, error=text)

    # The reports of a consumer.

    def consumed(
        self,
        value: bytes | str | None,
        *,
        partition: int,
        offset: int,
        key: bytes | str | None = None,
        topic: str | None = None,
        consumer: str = "consumer",
    ) -> None:
        """Record that a consumer received a record. `consumer` is one lifetime of a client.

        Raises:
            ScenarioError: the ledger has another topic, or several.
        """
        self.book.poll(consumer, [(self._topic(topic), partition, offset, (_bytes(key), _bytes(value)))])

    # The verdict.

    def verdict(self, *, all_delivered: bool = True) -> LedgerVerdict:
        """Judge the entries against what the cluster holds now.

        With `all_delivered` each acknowledged record of a topic that has a consumer must have been consumed.

        Raises:
            ScenarioError: a topic does not exist.
        """
        self.checked = True
        return judge_book(
            self.book,
            self._brokers(),
            self.promises,
            all_delivered=all_delivered,
            other_producers=self._other_producers,
        )

    def _brokers(self) -> BrokerState:
        if not isinstance(self._cluster, ThreadedCluster):
            from broker_scenarios.ledger.remote_brokers import read_remote_brokers

            return read_remote_brokers(self._cluster, self.book.topics, self._started_us, SETTLED_MS / 1000)
        cluster = self._cluster.cluster
        counts = self._cluster.call(lambda: cluster.partition_counts)
        for topic in self.book.topics:
            if topic not in counts:
                raise ScenarioError(f"a ledger of {topic!r}: there is no such topic{nearest(topic, counts)}")
        self._cluster.call(wait_until_replicated, cluster, self.book.topics, SETTLED_MS)
        state: BrokerState = self._cluster.call(read_brokers, cluster, self.book.topics)
        return state

    def check(self, *, all_delivered: bool = True) -> LedgerVerdict:
        """Return the verdict if it is valid.

        Raises:
            LedgerViolation: a record was lost, duplicated, reordered or not delivered, or something could not be
                judged, such as a send without an outcome.
            ScenarioError: a topic does not exist.
        """
        verdict = self.verdict(all_delivered=all_delivered)
        if not verdict.valid:
            raise LedgerViolation(verdict)
        return verdict

    def _topic(self, topic: str | None) -> str:
        if topic is None and len(self.book.topics) == 1:
            return self.book.topics[0]
        if topic not in self.book.topics:
            raise ScenarioError(f"topic={topic!r}: expected one of the ledger's topics, {', '.join(self.book.topics)}")
        return topic


def _journal_clock(cluster: ThreadedCluster | AttachedCluster) -> Callable[[], int]:
    if isinstance(cluster, ThreadedCluster):
        return cluster.cluster.journal.now_us
    # Kept out of tests with clusters of their own.
    from broker_scenarios.ledger.remote_brokers import remote_now_us

    return remote_now_us


def _bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
