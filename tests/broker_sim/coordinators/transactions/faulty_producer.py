"""A transactional producer on a faulty cluster, and the outcome of each of its transactions as far as it knows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.end_txn import EndTxnRequest
from tests.broker_sim.coordinators.transactions.transaction_cluster import (
    STATE_TOPIC,
    NotServedError,
    TransactionCluster,
)
from tests.broker_sim.coordinators.transactions.transactional_producer import (
    RETRIED,
    TransactionalProducer,
    error_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.topic_partition import TopicPartition

RETRIED_WRITES: Final = (3, 6, 7, 13, 14, 15, 16, 19, 20, 51)
WRITE_MAY_FOLLOW: Final = (15, 16)
"""Also the errors of a record that a coordinator has appended and may replicate later."""
TRIES_MAX: Final = 12
BACKOFF_MS: Final = 100


class Outcome(Enum):
    """The end of a transaction: OPEN ones have had no request to commit."""

    OPEN = "open"
    ABORTED = "aborted"
    COMMITTED = "committed"
    UNKNOWN = "unknown"


@dataclass(kw_only=True)
class Transaction:
    """The acknowledged records of a transaction; `failed` after a record that was not acknowledged."""

    number: int
    records: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    failed: bool = False
    outcome: Outcome = Outcome.OPEN


class FaultyProducer(TransactionalProducer):
    """`is_v2` follows transactions v2 (KIP-890). Not `ready` before its first request and after an error."""

    def __init__(self, cluster: TransactionCluster, transactional_id: str, *, is_v2: bool) -> None:
        super().__init__(cluster, transactional_id)
        self.faults = cluster
        self.is_v2 = is_v2
        self.ready = False
        self.transaction: Transaction | None = None
        self.former: FaultyProducer | None = None
        """The producer as it was before the last transaction ended."""
        self._is_certain = True
        """True while no request of the present call may have been served without a response."""

    @property
    def coordinator(self) -> int:
        """The broker that coordinates the id."""
        return self.leader_of(STATE_TOPIC, 0)

    def leader(self, partition: TopicPartition) -> int:
        """The leader of a partition."""
        return self.leader_of(*partition)

    def leader_of(self, topic: str, partition: int) -> int:
        """Return a leader that clients reach. Raises NotServedError."""
        leader = self.faults.leader(topic, partition)
        if leader is None:
            raise NotServedError
        return leader

    def _until_served(self, request: Any, version: int, error_of: Callable[[Any], int] = error_of) -> Any:
        self._is_certain = True
        for _ in range(TRIES_MAX):
            try:
                response = self.api.exchange(request, version, broker_id=self.coordinator)
            except NotServedError:
                self._is_certain = False
            else:
                if error_of(response) not in RETRIED:
                    return response
                self._is_certain &= error_of(response) not in WRITE_MAY_FOLLOW
            self.api.reactor.run_for(ms=BACKOFF_MS)
        raise NotServedError

    # What a producer does.

    def start(self, timeout_ms: int) -> None:
        """Initialize; a transaction that was open is never committed."""
        self.transaction = None
        try:
            self.ready = not self.init(timeout_ms).error_code
        except NotServedError:
            self.ready = False

    def write(self, transaction: Transaction, partition: TopicPartition) -> None:
        """Write one record, as often as it takes; add its partition before, in v1."""
        self.transaction = transaction
        written = transaction.records.setdefault(partition, [])
        value = b"%d.%d" % (transaction.number, len(written))
        if not (transaction.failed or self._is_added(partition, written)):
            transaction.failed = True
        if not transaction.failed:
            transaction.failed = self._send_until_acknowledged(partition, value) != 0
        if not transaction.failed:
            written.append(value)

    def _is_added(self, partition: TopicPartition, written: list[bytes]) -> bool:
        try:
            return self.is_v2 or bool(written) or self.add(partition) == 0
        except NotServedError:
            return False

    def _send_until_acknowledged(self, partition: TopicPartition, value: bytes) -> int:
        error = -1
        for _ in range(TRIES_MAX):
            try:
                error = self.send(partition, value, version=12 if self.is_v2 else 9)
            except NotServedError:
                error = RETRIED_WRITES[0]
            if error not in RETRIED_WRITES:
                break
            self.api.reactor.run_for(ms=BACKOFF_MS)
        return error

    def finish(self, *, commit: bool) -> None:
        """End the transaction; one with a failed record is aborted."""
        transaction, self.transaction = self.transaction, None
        assert transaction is not None
        commit &= not transaction.failed
        is_first = transaction.outcome is Outcome.OPEN
        former = copy(self)
        if is_first:
            transaction.outcome = Outcome.UNKNOWN if commit else Outcome.ABORTED
        try:
            self.ready = not self.end(commit=commit, version=5 if self.is_v2 else 3).error_code
        except NotServedError:
            self.ready = False
        else:
            if self.ready:
                self.former = former
            if commit and self.ready:
                transaction.outcome = Outcome.COMMITTED
            elif commit and self._is_certain and is_first:
                transaction.outcome = Outcome.ABORTED

    def repeat_end(self, *, commit: bool) -> None:
        """Send the request again that ended a transaction, as a network does that has kept a copy."""
        try:
            self.end(commit=commit, version=5 if self.is_v2 else 3)
        except NotServedError:
            return

    def request_end(self, *, commit: bool) -> None:
        """Send the request that ends the transaction, and do not wait for the response."""
        transaction = self.transaction
        assert transaction is not None
        commit &= not transaction.failed
        transaction.outcome = Outcome.UNKNOWN if commit else Outcome.ABORTED
        request = EndTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, committed=commit
        )
        self.faults.send(self.coordinator, request, 5 if self.is_v2 else 3)
