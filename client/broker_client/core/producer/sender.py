"""Moves batches from the accumulator to brokers, and responses back to their records.

Mirrors Sender; `run_once` is one turn.
Where Kafka's loop blocks in `poll`, ours returns how long nothing will happen, and is run again then or at the next
event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.network.cluster import Cluster, Node
from broker_client.core.network.in_flight_requests import ClientResponse, Delivery
from broker_client.core.network.metadata import LeaderIdAndEpoch, Metadata
from broker_client.core.producer.batch_completion import BatchCompletion, PartitionResponse
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.core.transactions.transaction_requests import TransactionRequests
from broker_client.errors import BatchExpired, ProducerClosed
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse
from protocol_specs.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.core.batching.message_formats import MessageFormats
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.core.metrics.sender_metrics import SenderMetrics
    from broker_client.core.network.network_client import NetworkClient
    from broker_client.core.transactions.producer_id_state import ProducerIdState

__all__ = ["Sender", "SenderConfig"]

NEVER_MS: Final = 1 << 62
# From version 13 on Produce names topics by id alone (KIP-516).
_HIGHEST_VERSION_WITH_NAMES: Final = 12
# From version 12 on a batch makes its partition join the transaction (KIP-890).
_HIGHEST_VERSION_OF_TRANSACTIONS_V1: Final = 11
_log = Logger()


@dataclass(slots=True, kw_only=True, frozen=True)
class SenderConfig:
    """The configurations that the Sender obeys, under their own names."""

    acks: int
    retries: int
    max_request_size: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    retry_backoff_ms: int
    guarantee_message_order: bool


class Sender:
    """Owns the network client and, through the accumulator, every batch that was drained."""

    __slots__ = (
        "_awaited_node",
        "_in_flight_batches",
        "_init_producer_id_in_flight",
        "_init_producer_id_not_before_ms",
        "_no_expiry_before_ms",
        "accumulator",
        "client",
        "completion",
        "config",
        "formats",
        "metadata",
        "metrics",
        "transaction_requests",
        "transactions",
    )

    def __init__(
        self,
        *,
        config: SenderConfig,
        client: NetworkClient,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        transactions: ProducerIdState | None,
        metrics: SenderMetrics,
        formats: MessageFormats,
    ) -> None:
        self.config = config
        self.client = client
        self.metadata = metadata
        self.accumulator = accumulator
        self.transactions = transactions
        self.formats = formats
        self.metrics = metrics
        self.completion = BatchCompletion(
            accumulator=accumulator,
            metadata=metadata,
            transactions=transactions,
            retries=config.retries,
            delivery_timeout_ms=config.delivery_timeout_ms,
            metrics=metrics,
        )
        self._awaited_node: Node | None = None
        self._in_flight_batches: dict[TopicPartition, list[ProducerBatch]] = {}
        self._init_producer_id_in_flight = False
        self._init_producer_id_not_before_ms = 0
        self._no_expiry_before_ms = 0
        self.transaction_requests: TransactionRequests | None = None
        if isinstance(transactions, TransactionManager):
            self.transaction_requests = TransactionRequests(
                manager=transactions,
                client=client,
                metadata=metadata,
                accumulator=accumulator,
                request_timeout_ms=config.request_timeout_ms,
            )

    def run_once(self, now_ms: int) -> int:
        """Run one loop iteration; return the milliseconds until the next is due, 0 for at once."""
        if now_ms >= self.client.time_out_ms or now_ms >= self._no_expiry_before_ms:
            due_ms = min(self.client.time_out_ms, self._no_expiry_before_ms)
            if not self.client.selector.has_read_since(due_ms, now_ms):
                return NEVER_MS
        requests = self.transaction_requests
        wait_ms = self._prepare_producer_id(now_ms) if requests is None else requests.run(now_ms)
        if wait_ms is None:
            wait_ms = self._send_producer_data(now_ms)
        again = self.client.poll(now_ms)
        # Kafka's Sender does it before its next poll: a response that has arrived counts.
        self._expire_batches(now_ms)
        again = again or (self.client.completed > 0 and self._has_more_to_do(now_ms))
        again = again or self._can_request_producer_id(now_ms)
        until_expiry_ms = self._until_expiry_ms(now_ms)
        # What is made from now on lives for delivery.timeout.ms at least.
        self._no_expiry_before_ms = now_ms + min(until_expiry_ms, self.config.delivery_timeout_ms)
        return 0 if again else min(wait_ms, until_expiry_ms, self.client.next_poll_ms)

    @property
    def has_work(self) -> bool:
        """True if something is unsent or unanswered."""
        return (
            self.accumulator.has_undrained
            or self.client.in_flight_count() > 0
            or (self.transaction_requests is not None and self.transaction_requests.has_work)
        )

    def abort(self) -> None:
        """Fail everything that has not ended: the producer is closed by force."""
        if self.transaction_requests is not None:
            self.transaction_requests.close(ProducerClosed("the producer was closed before the transaction ended"))
        self.accumulator.abort_batches(ProducerClosed("the producer was closed before the record was acknowledged"))
        self._in_flight_batches.clear()

    def _has_more_to_do(self, now_ms: int) -> bool:
        """True if responses left work for an iteration now: batches to send, or metadata to request."""
        transactions = self.transactions
        return (
            self.accumulator.has_undrained
            or self.metadata.time_to_next_update_ms(now_ms) == 0
            or (transactions is not None and not transactions.is_settled and self._has_producer_to_see_to(transactions))
        )

    # Idempotence

    def _prepare_producer_id(self, now_ms: int) -> int | None:
        """None when batches may go out; else how long that will take at least."""
        transactions = self.transactions
        if transactions is None or transactions.is_settled:
            return None
        transactions.maybe_resolve_sequences()
        if transactions.has_fatal_error:
            assert transactions.last_error is not None
            self.accumulator.abort_batches(transactions.last_error)
            return NEVER_MS
        if transactions.has_abortable_error:
            assert transactions.last_error is not None
            self.accumulator.abort_undrained_batches(transactions.last_error)
            transactions.reset_after_authorization_error()
        transactions.bump_epoch_and_reset_id_if_needed()
        if self._init_producer_id_in_flight:
            return NEVER_MS
        if not transactions.has_request_due:
            return None
        if now_ms < self._init_producer_id_not_before_ms:
            return self._init_producer_id_not_before_ms - now_ms
        return self._send_init_producer_id(transactions, now_ms)

    def _has_producer_to_see_to(self, transactions: ProducerIdState) -> bool:
        """True if a request is due, or if batches have to fail because the id was refused or is unusable."""
        if transactions.has_request_due:
            return True
        return self.transaction_requests is None and (
            transactions.has_abortable_error or (transactions.has_fatal_error and self.accumulator.has_incomplete)
        )

    def _can_request_producer_id(self, now_ms: int) -> bool:
        """True if the poll made the node ready that the id's request waits for (awaitNodeReady)."""
        if self.transaction_requests is not None:
            return self.transaction_requests.has_found_a_node(now_ms)
        node, transactions = self._awaited_node, self.transactions
        return (
            node is not None
            and transactions is not None
            and transactions.has_request_due
            and now_ms >= self._init_producer_id_not_before_ms
            and self.client.is_ready(node.id, now_ms)
        )

    def _send_init_producer_id(self, transactions: ProducerIdState, now_ms: int) -> int:
        # A node that was chosen is kept until it is ready or lost, though newer metadata may not know it.
        node = self._awaited_node
        if node is None or self.client.connection_states.is_disconnected(node.id):
            node, _ = self.client.least_loaded_node(now_ms)
        self._awaited_node = node
        if node is None:
            return self.config.retry_backoff_ms
        if not self.client.ready(node, now_ms):
            return self.client.poll_delay_ms(node.id, now_ms)
        self._awaited_node = None
        request = transactions.next_request()
        assert request is not None
        self._init_producer_id_in_flight = True

        def on_response(response: ClientResponse) -> None:
            self._init_producer_id_in_flight = False
            if response.delivery is Delivery.VERSION_MISMATCH:
                assert response.mismatch is not None
                transactions.version_mismatch(response.mismatch)
            elif isinstance(response.body, InitProducerIdResponse):
                if not transactions.handle_init_producer_id(response.body):
                    self._init_producer_id_not_before_ms = now_ms + self.config.retry_backoff_ms
            else:
                transactions.request_failed()
                self._init_producer_id_not_before_ms = now_ms + self.config.retry_backoff_ms

        self.client.send(node.id, request, now_ms, callback=on_response)
        return NEVER_MS

    # Sending

    def _send_producer_data(self, now_ms: int) -> int:
        cluster = self.metadata.cluster
        ready = self.accumulator.ready(cluster, now_ms)
        if ready.unknown_leader_topics:
            for topic in ready.unknown_leader_topics:
                self.metadata.add(topic, now_ms)
            self.metadata.request_update()
        wait_ms = ready.next_ready_check_ms
        sent = False
        if ready.ready_nodes:
            nodes = []
            for node_id in ready.ready_nodes:
                can_drain = self.client.ready(cluster.nodes[node_id], now_ms)
                self.accumulator.node_latencies.update(node_id, now_ms, can_drain=can_drain)
                if can_drain:
                    nodes.append(node_id)
                else:
                    wait_ms = min(wait_ms, self.client.poll_delay_ms(node_id, now_ms))
            sent = self._send_to(nodes, cluster, now_ms)
        return 0 if sent and self.accumulator.has_undrained else max(wait_ms, 0)

    def _send_to(self, nodes: Iterable[int], cluster: Cluster, now_ms: int) -> bool:
        """Send each node the batches that are queued for it; return True if there were any."""
        batches = self.accumulator.drain(cluster, nodes, self.config.max_request_size, now_ms)
        self._track(batches)
        sent = False
        for node_id, of_node in batches.items():
            if of_node:
                self._send_produce_request(node_id, of_node, cluster, now_ms)
                sent = True
        for of_node in batches.values():
            self.metrics.sent(of_node, now_ms)
        return sent

    def _track(self, batches: Mapping[int, list[ProducerBatch]]) -> None:
        for of_node in batches.values():
            for batch in of_node:
                self._in_flight_batches.setdefault(batch.topic_partition, []).append(batch)
                if self.config.guarantee_message_order:
                    self.accumulator.mute_partition(batch.topic_partition)

    def _expire_batches(self, now_ms: int) -> None:
        """Fail what delivery.timeout.ms has passed, queued or in flight."""
        if now_ms < self._no_expiry_before_ms:
            return
        expired = self.accumulator.expired_batches(now_ms)
        expired += self._expired_in_flight_batches(now_ms)
        for batch in expired:
            age_ms = now_ms - batch.created_ms
            what = f"{batch.record_count} record(s) for {batch.topic_partition}"
            text = f"expiring {what}: {age_ms} ms has passed since batch creation"
            error = BatchExpired(text, "delivery.timeout.ms")
            self.completion.expire(batch, error)

    def _until_expiry_ms(self, now_ms: int) -> int:
        """How long until the next batch expires."""
        first_ms = self.accumulator.first_created_ms()
        for batches in self._in_flight_batches.values():
            for batch in batches:
                first_ms = min(first_ms, batch.created_ms)
        return max(first_ms + self.config.delivery_timeout_ms - now_ms, 0) if first_ms < NEVER_MS else NEVER_MS

    def _expired_in_flight_batches(self, now_ms: int) -> list[ProducerBatch]:
        timeout_ms = self.config.delivery_timeout_ms
        expired = [
            batch
            for batches in self._in_flight_batches.values()
            for batch in batches
            if batch.has_reached_delivery_timeout(timeout_ms, now_ms)
        ]
        for batch in expired:
            self._forget_in_flight(batch)
        # One that a fatal error has failed waits for the end of its request alone.
        return [batch for batch in expired if not batch.is_done]

    def _send_produce_request(
        self, node_id: int, batches: Iterable[ProducerBatch], cluster: Cluster, now_ms: int
    ) -> None:
        by_partition: dict[TopicPartition, ProducerBatch] = {}
        topics: dict[str, TopicProduceData] = {}
        names: dict[bytes, str] = {}
        fitted = self.formats.fit(node_id, batches)
        for batch, partition_response in fitted.refused:
            self._complete(batch, partition_response, now_ms)
        if not fitted.records:
            return
        highest = fitted.highest_version
        for batch, records in fitted.records:
            topic, partition = key = batch.topic_partition
            by_partition[key] = batch
            data = topics.get(topic)
            if data is None:
                topic_id = cluster.topic_id(topic)
                if topic_id is None:
                    highest = min(_HIGHEST_VERSION_WITH_NAMES, highest or _HIGHEST_VERSION_WITH_NAMES)
                else:
                    names[topic_id] = topic
                data = topics[topic] = TopicProduceData(name=topic, topic_id=topic_id or ZERO_UUID)
            data.partition_data.append(PartitionProduceData(index=partition, records=records))
        transactional_id = None
        if isinstance(self.transactions, TransactionManager):
            transactional_id = self.transactions.transactional_id
            if not self.transactions.is_transaction_v2_enabled:
                highest = _HIGHEST_VERSION_OF_TRANSACTIONS_V1
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=self.config.acks,
            timeout_ms=self.config.request_timeout_ms,
            topic_data=list(topics.values()),
        )

        def on_response(response: ClientResponse) -> None:
            self._handle_produce_response(response, by_partition, names)

        correlation_id = self.client.send(
            node_id,
            request,
            now_ms,
            callback=on_response,
            expect_response=self.config.acks != 0,
            timeout_ms=self.config.request_timeout_ms,
            highest_version=highest,
        )
        self.accumulator.observer.sent(by_partition.values(), node_id, correlation_id)

    # Responses

    def _handle_produce_response(
        self,
        response: ClientResponse,
        batches: Mapping[TopicPartition, ProducerBatch],
        names: Mapping[bytes, str],
    ) -> None:
        if isinstance(response.body, ProduceResponse):
            self._handle_partitions(response.body, response.received_ms, batches, names)
            self.metrics.responded(response.node_id, response.latency_ms, response.received_ms)
            return
        partition_response = _without_response(response)
        for batch in batches.values():
            self._complete(batch, partition_response, response.received_ms)

    def _handle_partitions(
        self,
        response: ProduceResponse,
        now_ms: int,
        batches: Mapping[TopicPartition, ProducerBatch],
        names: Mapping[bytes, str],
    ) -> None:
        leaders: dict[TopicPartition, LeaderIdAndEpoch] = {}
        handled: set[TopicPartition] = set()
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for partition in topic.partition_responses:
                key = TopicPartition(name, partition.index)
                batch = batches.get(key)
                if batch is None:
                    _log.warn("sender: ignoring a response for {key}, which was not requested", key=key)
                    continue
                if key in handled:
                    self._listed_again(batch)
                    continue
                handled.add(key)
                partition_response = _response_of(partition)
                leader = partition.current_leader
                if partition_response.has_current_leader and leader.leader_id >= 0 and leader.leader_epoch >= 0:
                    leaders[key] = LeaderIdAndEpoch(leader_id=leader.leader_id, leader_epoch=leader.leader_epoch)
                self._complete(batch, partition_response, now_ms)
        if leaders:
            nodes = [Node(node.node_id, node.host, node.port, node.rack) for node in response.node_endpoints]
            self.metadata.update_leaders(leaders, nodes)

    def _listed_again(self, batch: ProducerBatch) -> None:
        """Ignore a further entry for a partition: the first one has decided what becomes of its batch."""
        _log.warn("sender: ignoring a second response for {key} in one response", key=batch.topic_partition)

    def _complete(self, batch: ProducerBatch, partition_response: PartitionResponse, now_ms: int) -> None:
        batch.request_ended()
        self._forget_in_flight(batch)
        self.completion.complete(batch, partition_response, now_ms)
        if self.config.guarantee_message_order:
            self.accumulator.unmute_partition(batch.topic_partition)

    def _forget_in_flight(self, batch: ProducerBatch) -> None:
        key = batch.topic_partition
        batches = self._in_flight_batches.get(key)
        if batches is not None and batch in batches:
            if len(batches) > 1:
                batches.remove(batch)
            else:
                del self._in_flight_batches[key]


def _response_of(partition: PartitionProduceResponse) -> PartitionResponse:
    return PartitionResponse(
        error_code=ErrorCode(partition.error_code) if partition.error_code else ErrorCode.NONE,
        base_offset=partition.base_offset,
        log_append_time_ms=partition.log_append_time_ms,
        log_start_offset=partition.log_start_offset,
        message=partition.error_message,
        record_errors={error.batch_index: error.batch_index_error_message for error in partition.record_errors}
        if partition.record_errors
        else {},
    )


def _without_response(response: ClientResponse) -> PartitionResponse:
    """The outcome of a partition without a response: none was requested, or none came."""
    delivery = response.delivery
    if delivery is Delivery.WRITTEN:
        return PartitionResponse(error_code=ErrorCode.NONE)
    if delivery is Delivery.VERSION_MISMATCH:
        return PartitionResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, message=str(response.mismatch))
    message = f"disconnected from node {response.node_id}"
    if delivery is Delivery.TIMED_OUT:
        return PartitionResponse(error_code=ErrorCode.REQUEST_TIMED_OUT, message=f"{message} due to time-out")
    return PartitionResponse(error_code=ErrorCode.NETWORK_EXCEPTION, message=message)
