"""A faulty cluster with three partitions that transactions write to, and one coordinator of transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.records.control_records import end_transaction_marker
from protocol_specs.records.record_batch import read_records
from sim_runtime.deadlines import DeadlineExceeded
from tests.broker_sim.coordinators.faulty_cluster import FaultyCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.defects.defect import Defect
    from broker_sim.log.replica_log import ReplicaLog

PARTITIONS: Final = (TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("bills", 0))
STATE_TOPIC: Final = "__transaction_state"
RESPONSE_MS: Final = 2_500
_CONFIG: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
}


class NotServedError(Exception):
    """No response has come in time: the request is served or not."""


class LoggedTransaction(NamedTuple):
    """A transaction in one log: its producer, its first offset and its marker, -1 without one."""

    producer_id: int
    first_offset: int
    marker_offset: int = -1


class TransactionCluster(FaultyCluster):
    """Topics `orders` and `bills`; the leaders are on both brokers."""

    def __init__(self, defects: Sequence[Defect] = ()) -> None:
        counts = {"orders": 2, "bills": 1}
        topics = [TopicSpec(name=name, partitions=count, replication_factor=2) for name, count in counts.items()]
        super().__init__(topics, _CONFIG, link_delay_ms=5, defects=defects)
        self.create_coordinators(1, "a", 4)

    def exchange(self, request: Any, version: int, *, broker_id: int) -> Any:
        """Return the response of a broker.

        Raises:
            NotServedError: the broker cannot be reached, or is killed, or the response is late.
        """
        if not self.serves(broker_id):
            raise NotServedError
        responses: list[Any] = []
        self.send(broker_id, request, version).addCallback(responses.append)
        try:
            self.reactor.run_until(lambda: bool(responses), deadline_ms=RESPONSE_MS)
        except DeadlineExceeded:
            raise NotServedError from None
        return responses[0]

    def log_of_leader(self, partition: TopicPartition) -> ReplicaLog | None:
        """Return the log of a leader that clients reach."""
        leader = self.leader(*partition)
        return None if leader is None else self.cluster.log_of(leader, *partition)

    def hold_links(self, source: int, target: int) -> None:
        """Hold the requests and responses of one broker to the other one."""
        self.cluster.links.link(source, target).hold()

    def release_links(self) -> None:
        """Deliver everything that is held between the brokers."""
        for source, target in ((1, 2), (2, 1)):
            link = self.cluster.links.link(source, target)
            if link.held:
                link.release()


def transactions_in(log: ReplicaLog) -> list[LoggedTransaction]:
    """Return the transactions of a log, as its batches have them."""
    first_offsets: dict[int, int] = {}
    found: list[LoggedTransaction] = []
    for batch in log.batches():
        if not batch.is_transactional:
            continue
        if not batch.is_control:
            first_offsets.setdefault(batch.producer_id, batch.base_offset)
            continue
        assert end_transaction_marker(read_records(batch.data)[0]) is not None
        start = first_offsets.pop(batch.producer_id, None)
        if start is not None:
            found.append(LoggedTransaction(batch.producer_id, start, batch.base_offset))
    return [*found, *(LoggedTransaction(producer_id, start) for producer_id, start in first_offsets.items())]
