"""Transactions keep their guarantees with any responses, lost responses and crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import ensureDeferred

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.core.transactions.transaction_states import TransactionState
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_client.transaction_errors import TransactionTimeout
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World
from tests.client.scripted_broker import PRODUCE, Action, ScriptedCluster
from tests.client.scripted_coordinator import END_TXN, TRANSACTIONAL_APIS, ScriptedCoordinator

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata

E = ErrorCode
S = TransactionState
PARTITIONS = 3
MAX_BLOCK_MS = 3_000
CALLS_MAX = 30
RESPONSES = [
    E.NOT_COORDINATOR,
    E.COORDINATOR_NOT_AVAILABLE,
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.CONCURRENT_TRANSACTIONS,
    E.REQUEST_TIMED_OUT,
    E.UNKNOWN_TOPIC_OR_PARTITION,
    E.TRANSACTION_ABORTABLE,
    E.UNKNOWN_PRODUCER_ID,
    E.TOPIC_AUTHORIZATION_FAILED,
    E.GROUP_AUTHORIZATION_FAILED,
    E.ILLEGAL_GENERATION,
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    E.INVALID_PRODUCER_ID_MAPPING,
    E.PRODUCER_FENCED,
]
ACTS = st.one_of(
    st.builds(Action, error=st.sampled_from([E.NOT_ENOUGH_REPLICAS, E.NOT_LEADER_OR_FOLLOWER, E.INVALID_RECORD])),
    st.builds(Action, appends=st.booleans(), disconnects=st.just(True)),
    st.builds(Action, appends=st.booleans(), responds=st.just(False)),
    st.builds(Action, appends=st.just(True), delay_ms=st.integers(1, 1_500)),
)


class TransactionsMachine(RuleBasedStateMachine):
    version = 1

    @initialize(seed=st.integers(0, 999), linger_ms=st.sampled_from([0, 50, 60_000]))
    def start(self, seed: int, linger_ms: int) -> None:
        self.world = World(seed)
        self.cluster = ScriptedCluster(self.world, brokers=2)
        self.cluster.create("t", partitions=PARTITIONS)
        self.coordinator = ScriptedCoordinator(self.cluster, transaction_version=self.version)
        self.core = ProducerCore(
            ProducerConfig(
                bootstrap_servers=self.cluster.bootstrap_servers,
                transactional_id="id",
                linger_ms=linger_ms,
                batch_size=100,
                max_block_ms=MAX_BLOCK_MS,
                request_timeout_ms=1_000,
                delivery_timeout_ms=linger_ms + 5_000,
            ),
            self.cluster.client,
            self.world.streams.stream("producer"),
        )
        manager = self.core.transactions
        assert isinstance(manager, TransactionManager)
        self.manager = manager
        self.number = 0
        self.sent: list[tuple[FutureRecordMetadata, int]] = []
        self.received: list[int] = []
        self.all_sent = 0
        self.misplaced: list[str] = []
        obey_end = self.coordinator.obey[END_TXN]

        def end_txn(request: Any, version: int, code: ErrorCode) -> Any:
            if self.core.accumulator.has_incomplete:
                self.misplaced.append("EndTxn before all batches had ended")
            return obey_end(request, version, code)

        self.coordinator.obey[END_TXN] = end_txn
        assert self.settled("init_transactions") is None

    def call(self, call: Coroutine[Any, Any, None]) -> ProducerError | None:
        """How a call ends, which it does within max.block.ms."""
        try:
            self.world.run_until(ensureDeferred(call), deadline_ms=MAX_BLOCK_MS + 1)
        except ProducerError as error:
            return error
        return None

    def settled(self, name: str) -> ProducerError | None:
        """A call, made again as long as it times out."""
        for _ in range(CALLS_MAX):
            error = self.call(getattr(self.core.transactional, name)())
            if not isinstance(error, TransactionTimeout):
                return error
        raise AssertionError(f"{name} never ends")

    def in_state(self, *states: TransactionState) -> bool:
        return self.manager.state in states

    @precondition(lambda self: self.in_state(S.UNINITIALIZED))
    @rule()
    def init(self) -> None:
        if self.settled("init_transactions") is None:
            assert self.in_state(S.READY)

    def begin(self) -> None:
        """Done by the first record of a transaction."""
        self.core.transactional.begin_transaction()
        self.sent = []

    @rule(partition=st.integers(0, PARTITIONS - 1), many=st.integers(1, 4))
    def send(self, partition: int, many: int) -> None:
        if self.in_state(S.READY):
            self.begin()
        inside = self.in_state(S.IN_TRANSACTION)
        for _ in range(many):
            self.number += 1
            number = self.number
            self.all_sent += 1
            future = self.core.send(
                "t",
                b"%04d" % number,
                partition=partition,
                on_delivery=lambda *_, number=number: self.received.append(number),
            )
            if inside:
                self.sent.append((future, number))
            else:
                assert future.done()

    @precondition(lambda self: self.in_state(S.IN_TRANSACTION))
    @rule(offset=st.integers(0, 9))
    def send_offsets(self, offset: int) -> None:
        self.call(self.core.transactional.send_offsets_to_transaction({TopicPartition("t", 0): offset}, "group"))

    @precondition(lambda self: self.in_state(S.IN_TRANSACTION))
    @rule()
    def commit(self) -> None:
        if self.settled("commit_transaction") is not None:
            assert self.in_state(S.ABORTABLE_ERROR, S.FATAL_ERROR)
            return
        assert self.in_state(S.READY)
        for future, number in self.sent:
            place = self.world.run_until(future.as_deferred())
            assert self.cluster.values("t", place.partition)[place.offset] == b"%04d" % number
        if self.sent:
            assert self.coordinator.ended[-1] is True

    @precondition(lambda self: self.in_state(S.IN_TRANSACTION, S.ABORTABLE_ERROR))
    @rule()
    def abort(self) -> None:
        error = self.settled("abort_transaction")
        assert self.in_state(S.READY) if error is None else not self.in_state(S.READY)
        assert all(future.done() for future, _ in self.sent)

    @precondition(lambda self: self.in_state(S.FATAL_ERROR))
    @rule(name=st.sampled_from(["init_transactions", "commit_transaction", "abort_transaction"]))
    def nothing_follows_a_fatal_error(self, name: str) -> None:
        assert isinstance(self.call(getattr(self.core.transactional, name)()), ProducerError)

    @rule(api_key=st.sampled_from(TRANSACTIONAL_APIS), code=st.sampled_from(RESPONSES))
    def response(self, api_key: int, code: ErrorCode) -> None:
        self.coordinator.script[api_key].append(code)

    @rule(api_key=st.sampled_from(TRANSACTIONAL_APIS))
    def lose_a_response(self, api_key: int) -> None:
        self.coordinator.lost_responses[api_key] += 1

    @rule(act=ACTS)
    def script_produce_response(self, act: Action) -> None:
        self.cluster.script.append(act)

    @rule(ms=st.integers(1, 3_000))
    def time_passes(self, ms: int) -> None:
        self.world.run_for(ms=ms)

    @rule(broker=st.integers(1, 2))
    def coordinator_moves(self, broker: int) -> None:
        self.coordinator.leader = broker

    @rule(broker=st.integers(1, 2))
    def connections_break(self, broker: int) -> None:
        for connection in list(self.cluster.brokers[broker].connections):
            connection.transport.abortConnection()

    @invariant()
    def a_partition_joins_before_it_is_written_to(self) -> None:
        joined: dict[TopicPartition, None] = {}
        for requested in self.cluster.seen if self.version == 1 else []:
            if requested.api_key == 24:
                for topic in requested.request.v3_and_below_topics:
                    joined.update({TopicPartition(topic.name, partition): None for partition in topic.partitions})
            elif requested.api_key == PRODUCE:
                assert all(key in joined for key in requested.batches)
            elif requested.api_key == END_TXN:
                joined.clear()

    @invariant()
    def nothing_is_out_of_place(self) -> None:
        assert self.misplaced == []

    def teardown(self) -> None:
        if hasattr(self, "core"):
            self.world.run_until(self.core.close(20_000), deadline_ms=30_000)
            assert sorted(self.received) == list(range(1, self.all_sent + 1))
            assert self.core.pool.available_bytes == self.core.pool.memory_bytes
            assert self.core.loop_errors == 0


class SecondProtocolMachine(TransactionsMachine):
    version = 2


def claim(machine: type[TransactionsMachine]) -> Any:
    case = machine.TestCase
    case.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
    return case


TestFirstProtocol = claim(TransactionsMachine)
TestSecondProtocol = claim(SecondProtocolMachine)
