"""The transactional calls of an application, on the reactor. Mirrors the transactional methods of KafkaProducer.

Each waits at most max.block.ms; after TransactionTimeout the same call, and no other, may be made again: it goes on
waiting for what is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
from broker_client.errors import (
    ConfigError,
    IllegalState,
    ProducerClosed,
    ProducerError,
    SerializationError,
)
from broker_client.transaction_errors import (
    InvalidProducerEpoch,
    ProducerFenced,
    TransactionAborted,
    TransactionInError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.metrics.kafka_producer_metrics import KafkaProducerMetrics
    from broker_client.core.producer.pending_sends import PendingSends
    from broker_client.core.transactions.transaction_manager import TransactionManager
    from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult
    from broker_client.records import TopicPartition
    from sim_runtime.interfaces import IReactor

__all__ = ["REFUSALS", "TransactionalCalls"]

# What a transactional send raises, where other errors come with the record's future.
REFUSALS: Final = (ProducerClosed, IllegalState, TransactionInError, ProducerFenced, InvalidProducerEpoch)
# Mistakes of a call: they leave the transaction as it is.
_MISTAKES: Final = (*REFUSALS, ConfigError, SerializationError, TransactionAborted)


class TransactionalCalls:
    """The calls of one transactional producer."""

    def __init__(
        self,
        *,
        manager: TransactionManager,
        pending: Callable[[], PendingSends],
        reactor: IReactor,
        wakeup: Callable[[], None],
        max_block_ms: int,
        metrics: KafkaProducerMetrics,
    ) -> None:
        self._manager = manager
        self._pending = pending
        self._reactor = reactor
        self._wakeup = wakeup
        self._max_block_ms = max_block_ms
        self._metrics = metrics

    async def init_transactions(self) -> None:
        """Fence older producers with the same transactional.id, end their transaction, get a producer id."""
        began_s = self._reactor.seconds()
        await self._wait(self._manager.initialize_transactions())
        self._metrics.init_transactions.since(began_s)
        self._manager.maybe_update_transaction_v2_enabled(on_initialization=True)

    def begin_transaction(self) -> None:
        """Every record sent from now on is part of the transaction."""
        began_s = self._reactor.seconds()
        self._manager.begin_transaction()
        self._metrics.begin_transaction.since(began_s)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets with the transaction."""
        if isinstance(group, str):
            group = ConsumerGroupMetadata(group_id=group)
        if group.generation_id > 0 and not group.member_id:
            raise ProducerError(f"{group}: a generation needs its member_id")
        if not offsets:
            return
        given = {
            key: OffsetAndMetadata(offset=value) if isinstance(value, int) else value for key, value in offsets.items()
        }
        for key, value in given.items():
            if value.offset < 0:
                raise ProducerError(f"offset {value.offset} of {key}: an offset is never negative")
        began_s = self._reactor.seconds()
        await self._wait(self._manager.send_offsets_to_transaction(given, group))
        self._metrics.send_offsets.since(began_s)

    async def commit_transaction(self) -> None:
        """Send what there is, await all acknowledgements, commit; raises what failed a record before."""
        began_s = self._reactor.seconds()
        await self._pending().all_appended()  # as if each of the records had been waited for when it was sent
        waited_ms = int((self._reactor.seconds() - began_s) * 1000)
        await self._wait(self._manager.begin_commit(), waited_ms)
        self._metrics.commit_transaction.since(began_s)

    async def abort_transaction(self) -> None:
        """Fail what was not sent yet, await the rest, abort."""
        began_s = self._reactor.seconds()
        result = self._manager.begin_abort()
        self._pending().fail_all(TransactionAborted("the record was not sent: its transaction was aborted"))
        await self._wait(result)
        self._metrics.abort_transaction.since(began_s)

    def check_send(self) -> None:
        """Raise one of REFUSALS outside of a transaction."""
        self._manager.check_send()

    def appended(self, key: TopicPartition) -> None:
        """Something was appended to the partition: it is part of the transaction."""
        if self._manager.maybe_add_partition(key):
            # The append has woken the Sender before the partition was there to be seen.
            self._wakeup()

    def send_failed(self, error: ProducerError) -> None:
        """A record could not be appended: its transaction cannot be committed."""
        if type(error) is not ProducerError and not isinstance(error, _MISTAKES):
            self._manager.maybe_transition_to_error_state(error)

    async def _wait(self, result: TransactionalRequestResult, waited_ms: int = 0) -> None:
        self._wakeup()
        await result.wait(self._reactor, max(self._max_block_ms - waited_ms, 0))
