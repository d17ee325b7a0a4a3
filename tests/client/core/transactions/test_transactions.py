"""Transactions against a scripted coordinator, on virtual time: the requests, their order, and the effect of errors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred, ensureDeferred

from broker_client.consumer_errors import CommitFailed
from broker_client.consumer_groups import ConsumerGroupMetadata
from broker_client.errors import BatchExpired, BrokerError, IllegalState, ProducerError
from broker_client.records import TopicPartition
from broker_client.transaction_errors import (
    InvalidProducerEpoch,
    ProducerFenced,
    TransactionAbortable,
    TransactionAborted,
    TransactionInError,
    TransactionTimeout,
)
from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import INIT_PRODUCER_ID, Action, ScriptedCluster
from tests.client.scripted_coordinator import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    END_TXN,
    FIND_COORDINATOR,
    TXN_OFFSET_COMMIT,
    ScriptedCoordinator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World

    ProducerOn = Callable[..., ProducerCore]

ORDERS = TopicPartition("orders", 0)
E = ErrorCode


class Producer:
    """A transactional producer whose calls are run to their end."""

    def __init__(self, world: World, core: ProducerCore) -> None:
        self.world = world
        self.core = core

    def call(self, coroutine: Coroutine[Any, Any, Any], deadline_ms: float = 200_000) -> Any:
        return self.world.run_until(ensureDeferred(coroutine), deadline_ms=deadline_ms)

    def started(self, coroutine: Coroutine[Any, Any, Any]) -> Deferred[Any]:
        return ensureDeferred(coroutine)

    def init(self) -> None:
        self.call(self.core.transactional.init_transactions())

    def begin(self) -> None:
        self.core.transactional.begin_transaction()

    def commit(self) -> None:
        self.call(self.core.transactional.commit_transaction())

    def abort(self) -> None:
        self.call(self.core.transactional.abort_transaction())

    def offsets(self, offsets: dict[TopicPartition, Any], group: Any = "readers") -> None:
        self.call(self.core.transactional.send_offsets_to_transaction(offsets, group))

    def send(self, value: bytes = b"v", partition: int | None = None) -> Any:
        return self.core.send("orders", value, partition=partition)

    def result(self, future: Any) -> Any:
        return self.world.run_until(future.as_deferred(), deadline_ms=200_000)

    def error(self, future: Any) -> Any:
        with pytest.raises(ProducerError) as caught:
            self.result(future)
        return caught.value


@pytest.fixture(params=[1, 2], ids=["transactions-v1", "transactions-v2"])
def coordinator(request: pytest.FixtureRequest, cluster: ScriptedCluster) -> ScriptedCoordinator:
    return ScriptedCoordinator(cluster, transaction_version=request.param)


@pytest.fixture
def coordinator_v1(cluster: ScriptedCluster) -> ScriptedCoordinator:
    return ScriptedCoordinator(cluster, transaction_version=1)


@pytest.fixture
def coordinator_v2(cluster: ScriptedCluster) -> ScriptedCoordinator:
    return ScriptedCoordinator(cluster, transaction_version=2)


@pytest.fixture
def producer(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> Producer:
    return Producer(world, producer_on(cluster, transactional_id="t"))


def ready(producer: Producer) -> Producer:
    producer.init()
    producer.begin()
    return producer


def test_a_commit_in_the_first_protocol_sends_requests_in_kafkas_order(
    coordinator_v1: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    sent = producer.send()
    producer.commit()
    assert producer.result(sent).offset == 0
    assert coordinator_v1.requested == [
        "FindCoordinator",
        "InitProducerId",
        "AddPartitionsToTxn",
        "Produce",
        "EndTxn",
    ]
    assert cluster.produced[0].api_version == 11
    assert cluster.produced[0].request.transactional_id == "t"
    assert coordinator_v1.requests(END_TXN)[0].api_version == 4
    assert coordinator_v1.requests(ADD_PARTITIONS)[0].api_version == 3
    assert coordinator_v1.requests(INIT_PRODUCER_ID)[0].api_version == 5
    assert coordinator_v1.ended == [True]


def test_in_the_second_protocol_partitions_join_by_being_written_to(
    coordinator_v2: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    producer.send()
    producer.commit()
    assert coordinator_v2.requested == ["FindCoordinator", "InitProducerId", "Produce", "EndTxn"]
    assert cluster.produced[0].api_version >= 12
    assert coordinator_v2.requests(END_TXN)[0].api_version == 5


def test_the_second_protocol_bumps_the_epoch_with_every_transaction(
    coordinator_v2: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    producer.init()
    for _ in range(3):
        producer.begin()
        producer.send()
        producer.commit()
    batches = [requested_apis.batches[ORDERS] for requested_apis in cluster.produced]
    assert [(batch.producer_epoch, batch.base_sequence) for batch in batches] == [(0, 0), (1, 0), (2, 0)]


def test_the_first_protocol_keeps_epoch_and_sequences(
    coordinator_v1: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    producer.init()
    for _ in range(2):
        producer.begin()
        producer.send()
        producer.commit()
    batches = [requested_apis.batches[ORDERS] for requested_apis in cluster.produced]
    assert [(batch.producer_epoch, batch.base_sequence) for batch in batches] == [(0, 0), (0, 1)]
    assert all(batch.is_transactional for batch in batches)


def test_a_commit_does_not_linger(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", linger_ms=60_000)))
    sent = producer.send()
    producer.commit()
    assert sent.done()


def test_an_empty_transaction_sends_nothing_to_the_coordinator(
    coordinator: ScriptedCoordinator, producer: Producer
) -> None:
    ready(producer).commit()
    producer.begin()
    producer.abort()
    assert coordinator.requested == ["FindCoordinator", "InitProducerId"]


def test_an_abort_fails_what_was_not_sent(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", linger_ms=60_000)))
    sent = producer.send()
    producer.abort()
    assert isinstance(producer.error(sent), TransactionAborted)
    assert cluster.produced == []


def test_an_abort_waits_for_what_is_in_flight(
    coordinator: ScriptedCoordinator, producer: Producer, world: World, cluster: ScriptedCluster
) -> None:
    ready(producer)
    cluster.script.append(Action(appends=True, delay_ms=500))
    sent = producer.send()
    world.run_for(ms=100)
    producer.abort()
    assert producer.result(sent).offset == 0
    assert coordinator.requested[-2:] == ["Produce", "EndTxn"]
    assert coordinator.ended == [False]


def test_offsets_are_committed_with_the_transaction(coordinator: ScriptedCoordinator, producer: Producer) -> None:
    ready(producer)
    producer.offsets({ORDERS: 7}, ConsumerGroupMetadata(group_id="readers", generation_id=3, member_id="m"))
    assert coordinator.committed_offsets == {}
    producer.commit()
    assert coordinator.committed_offsets == {ORDERS: 7}
    (commit,) = (one.request for one in coordinator.requests(TXN_OFFSET_COMMIT))
    assert (commit.group_id, commit.generation_id, commit.member_id) == ("readers", 3, "m")


def test_only_the_first_protocol_announces_a_group(
    coordinator: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    producer.offsets({ORDERS: 7})
    second = cluster.finalized_features["transaction.version"] == 2
    announced = [] if second else ["AddOffsetsToTxn"]
    assert coordinator.requested[2:] == [*announced, "FindCoordinator", "TxnOffsetCommit"]
    assert coordinator.requests(TXN_OFFSET_COMMIT)[0].api_version == (5 if second else 4)


def test_no_offsets_send_no_request(coordinator: ScriptedCoordinator, producer: Producer) -> None:
    ready(producer).offsets({})
    assert coordinator.requests(ADD_OFFSETS) == coordinator.requests(TXN_OFFSET_COMMIT) == []


def test_a_second_producer_fences_the_first(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    first = ready(Producer(world, producer_on(cluster, transactional_id="t")))
    first.result(first.send())
    second = Producer(world, producer_on(cluster, transactional_id="t"))
    second.init()
    with pytest.raises(ProducerFenced):
        first.commit()
    with pytest.raises(ProducerFenced, match="fenced by a newer one"):
        first.begin()
    assert isinstance(first.error(first.send()), ProducerFenced)
    second.begin()
    second.result(second.send())
    second.commit()
    assert coordinator.ended == [True]


@pytest.mark.parametrize("method", ["begin", "commit", "abort"])
def test_nothing_goes_before_init_transactions(
    coordinator: ScriptedCoordinator, producer: Producer, method: str
) -> None:
    with pytest.raises(IllegalState, match=f"cannot {method}_transaction in state UNINITIALIZED"):
        getattr(producer, method)()


def test_a_record_outside_of_a_transaction_is_refused_and_not_appended(
    coordinator: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    assert "init_transactions first" in str(producer.error(producer.send()))
    producer.init()
    assert "begin_transaction first" in str(producer.error(producer.send()))
    assert not producer.core.accumulator.has_incomplete
    with pytest.raises(IllegalState, match="no transaction is in progress"):
        producer.offsets({ORDERS: 1})


def test_without_a_transactional_id_there_are_no_transactions(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    with pytest.raises(IllegalState, match=r"transactional\.id"):
        _ = producer_on(cluster).transactional


def test_a_call_that_timed_out_is_made_again_and_no_other(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", max_block_ms=5_000)))
    producer.result(producer.send())
    coordinator.silent.add(END_TXN)
    with pytest.raises(TransactionTimeout, match=r"EndTxn\(commit\) is not done after 5000 ms; raise max.block.ms"):
        producer.commit()
    with pytest.raises(IllegalState, match="call to commit_transaction before"):
        producer.abort()
    with pytest.raises(IllegalState, match="call to commit_transaction before"):
        producer.begin()
    coordinator.silent.clear()
    world.run_for(ms=30_000)
    producer.commit()
    producer.begin()


RETRIED = {
    FIND_COORDINATOR: [E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR],
    INIT_PRODUCER_ID: [E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS, E.CONCURRENT_TRANSACTIONS],
    ADD_PARTITIONS: [
        E.NOT_COORDINATOR,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.CONCURRENT_TRANSACTIONS,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    ],
    ADD_OFFSETS: [E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS, E.CONCURRENT_TRANSACTIONS],
    TXN_OFFSET_COMMIT: [
        E.NOT_COORDINATOR,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.REQUEST_TIMED_OUT,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    ],
    END_TXN: [E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS, E.CONCURRENT_TRANSACTIONS],
}


@pytest.mark.parametrize(("api_key", "code"), [(key, code) for key, codes in RETRIED.items() for code in codes])
def test_retriable_errors_repeat_the_request(
    coordinator_v1: ScriptedCoordinator, producer: Producer, api_key: int, code: ErrorCode
) -> None:
    coordinator_v1.script[api_key] += [code, code]
    ready(producer)
    sent = producer.send()
    producer.offsets({ORDERS: 1})
    producer.commit()
    assert producer.result(sent).offset == 0
    assert coordinator_v1.ended == [True]
    assert len(coordinator_v1.requests(api_key)) >= 3


ABORTABLE = {
    ADD_PARTITIONS: [E.TOPIC_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE, E.UNKNOWN_PRODUCER_ID, E.INVALID_REQUEST],
    ADD_OFFSETS: [E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE, E.UNKNOWN_PRODUCER_ID],
    TXN_OFFSET_COMMIT: [
        E.GROUP_AUTHORIZATION_FAILED,
        E.TRANSACTION_ABORTABLE,
        E.FENCED_INSTANCE_ID,
        E.UNKNOWN_MEMBER_ID,
        E.ILLEGAL_GENERATION,
    ],
    END_TXN: [E.TRANSACTION_ABORTABLE, E.UNKNOWN_PRODUCER_ID],
}
FATAL = {
    INIT_PRODUCER_ID: [E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH, E.INVALID_TRANSACTION_TIMEOUT],
    FIND_COORDINATOR: [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.INVALID_REQUEST],
    ADD_PARTITIONS: [
        E.PRODUCER_FENCED,
        E.INVALID_PRODUCER_EPOCH,
        E.INVALID_TXN_STATE,
        E.INVALID_PRODUCER_ID_MAPPING,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ],
    ADD_OFFSETS: [E.PRODUCER_FENCED, E.INVALID_TXN_STATE, E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_REQUEST],
    TXN_OFFSET_COMMIT: [
        E.PRODUCER_FENCED,
        E.INVALID_PRODUCER_EPOCH,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        E.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        E.INVALID_REQUEST,
    ],
    END_TXN: [E.PRODUCER_FENCED, E.INVALID_TXN_STATE, E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_REQUEST],
}


def failing_transaction(producer: Producer, api_key: int) -> None:
    """A transaction of records and offsets, up to the error of its script."""
    ready(producer)
    sent = producer.send()
    if api_key != ADD_PARTITIONS:
        producer.result(sent)
        producer.offsets({ORDERS: 1})
    producer.commit()


@pytest.mark.parametrize(("api_key", "code"), [(key, code) for key, codes in ABORTABLE.items() for code in codes])
def test_an_abortable_error_is_healed_by_an_abort(
    coordinator_v1: ScriptedCoordinator, producer: Producer, api_key: int, code: ErrorCode
) -> None:
    coordinator_v1.script[api_key].append(code)
    with pytest.raises(ProducerError):
        failing_transaction(producer, api_key)
    with pytest.raises(TransactionInError, match="abort_transaction") as caught:
        producer.begin()
    assert not caught.value.fatal
    producer.abort()
    producer.begin()
    sent = producer.send()
    producer.commit()
    assert producer.result(sent).offset >= 0
    assert coordinator_v1.ended[-1] is True


@pytest.mark.parametrize(("api_key", "code"), [(key, code) for key, codes in FATAL.items() for code in codes])
def test_a_fatal_error_ends_the_producer(
    coordinator_v1: ScriptedCoordinator, producer: Producer, api_key: int, code: ErrorCode
) -> None:
    coordinator_v1.script[api_key].append(code)
    with pytest.raises(ProducerError) as caught:
        failing_transaction(producer, api_key)
    fenced = code in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
    assert caught.value.error_code is (E.PRODUCER_FENCED if fenced else code)
    for call in (producer.init, producer.begin, producer.commit, producer.abort):
        with pytest.raises(ProducerFenced if fenced else TransactionInError):
            call()


def test_a_refused_transactional_id_may_be_requested_again(
    coordinator: ScriptedCoordinator, producer: Producer
) -> None:
    coordinator.script[INIT_PRODUCER_ID].append(E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        producer.init()
    ready(producer)


def test_a_consumer_that_left_its_group_fails_the_offsets(coordinator: ScriptedCoordinator, producer: Producer) -> None:
    coordinator.script[TXN_OFFSET_COMMIT].append(E.ILLEGAL_GENERATION)
    ready(producer)
    with pytest.raises(CommitFailed, match="group 'readers'"):
        producer.offsets({ORDERS: 1})
    producer.abort()


def test_an_abort_that_cannot_be_is_fatal(coordinator: ScriptedCoordinator, producer: Producer) -> None:
    ready(producer)
    producer.result(producer.send())
    coordinator.script[END_TXN].append(E.TRANSACTION_ABORTABLE)
    with pytest.raises(ProducerError, match="cannot abort the transaction") as caught:
        producer.abort()
    assert not isinstance(caught.value, TransactionAbortable)  # it would mean: abort, and go on
    with pytest.raises(TransactionInError, match="close the producer"):
        producer.begin()


def test_the_first_partition_does_not_wait_out_a_whole_back_off(
    coordinator_v1: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    coordinator_v1.script[ADD_PARTITIONS] += [E.CONCURRENT_TRANSACTIONS] * 3
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", retry_backoff_ms=1_000)))
    producer.result(producer.send())
    times = [requested_apis.time_ms for requested_apis in coordinator_v1.requests(ADD_PARTITIONS)]
    assert all(20 <= later - earlier < 100 for earlier, later in pairwise(times))


def test_a_failed_record_fails_the_commit(
    coordinator: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    cluster.script.append(Action(error=E.INVALID_RECORD))
    sent = producer.send()
    assert producer.error(sent).error_code is E.INVALID_RECORD
    with pytest.raises(TransactionInError, match="INVALID_RECORD"):
        producer.commit()
    producer.abort()
    producer.begin()
    producer.send()
    producer.commit()
    assert cluster.values("orders") == [b"v"]


def test_an_abortable_error_fails_what_waits_to_be_sent(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = Producer(world, producer_on(cluster, transactional_id="t", linger_ms=1_000))
    ready(producer)
    producer.result(producer.send())
    cluster.script.append(Action(error=E.INVALID_RECORD, delay_ms=100))
    failed = producer.send()
    world.run_for(ms=50)
    waiting = producer.send()
    assert producer.error(failed).error_code is E.INVALID_RECORD
    assert producer.error(waiting).error_code is E.INVALID_RECORD
    assert isinstance(producer.error(producer.send()), TransactionInError)
    producer.abort()


def test_after_an_abortable_error_the_first_protocol_requests_a_new_epoch(
    coordinator_v1: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    cluster.script.append(Action(error=E.INVALID_RECORD))
    producer.error(producer.send())
    producer.abort()
    assert coordinator_v1.requested[-2:] == ["EndTxn", "InitProducerId"]
    requested_apis = coordinator_v1.requests(INIT_PRODUCER_ID)[-1].request
    assert (requested_apis.producer_id, requested_apis.producer_epoch) == (1000, 0)
    producer.begin()
    producer.result(producer.send())
    batch = cluster.produced[-1].batches[ORDERS]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_an_old_epoch_in_a_partition_is_abortable(
    coordinator: ScriptedCoordinator, producer: Producer, cluster: ScriptedCluster
) -> None:
    ready(producer)
    cluster.script.append(Action(error=E.INVALID_PRODUCER_EPOCH))
    assert producer.error(producer.send()).error_code is E.INVALID_PRODUCER_EPOCH
    with pytest.raises(InvalidProducerEpoch):
        producer.commit()
    producer.abort()
    producer.begin()


def test_a_record_that_expires_fails_its_transaction(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    given = {"delivery_timeout_ms": 3_000, "request_timeout_ms": 1_000, "linger_ms": 0}
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", **given)))
    cluster.default = Action(responds=False)
    assert isinstance(producer.error(producer.send()), BatchExpired)
    with pytest.raises(TransactionInError, match="given up"):
        producer.commit()
    cluster.default = Action(appends=True)
    producer.abort()
    producer.begin()
    producer.result(producer.send())
    producer.commit()


def test_a_coordinator_that_moves_is_found_again(world: World, producer_on: ProducerOn) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    cluster.create("orders")
    coordinator = ScriptedCoordinator(cluster, transaction_version=2, leader=1)
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t")))
    producer.result(producer.send())
    coordinator.leader = 2
    producer.commit()
    assert [requested_apis.broker for requested_apis in coordinator.requests(END_TXN)] == [1, 2]
    assert coordinator.ended == [True]


def test_a_coordinator_that_dies_is_found_again(world: World, producer_on: ProducerOn) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    cluster.create("orders", partitions=2)
    coordinator = ScriptedCoordinator(cluster, transaction_version=2, leader=2)
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t")))
    producer.result(producer.send(partition=0))
    cluster.brokers[2].crash()
    coordinator.leader = 1
    producer.commit()
    assert coordinator.ended == [True]


def test_the_protocol_changes_between_two_transactions(
    coordinator_v1: ScriptedCoordinator, producer: Producer, world: World, cluster: ScriptedCluster
) -> None:
    ready(producer)
    producer.result(producer.send())
    cluster.finalized_features["transaction.version"] = 2
    cluster.finalized_features_epoch = 2
    cluster.brokers[1].connections[-1].transport.abortConnection()
    producer.result(producer.send())
    producer.commit()
    # Ended as it was begun, and then a new epoch, so that the old protocol cannot write into the next.
    assert [requested_apis.api_version for requested_apis in coordinator_v1.requests(END_TXN)] == [4]
    assert coordinator_v1.requested[-1] == "InitProducerId"
    producer.begin()
    producer.send()
    producer.commit()
    assert coordinator_v1.requested[-2:] == ["Produce", "EndTxn"]
    assert coordinator_v1.requests(END_TXN)[-1].api_version == 5


def test_closing_aborts_an_open_transaction(
    coordinator: ScriptedCoordinator, world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = ready(Producer(world, producer_on(cluster, transactional_id="t", linger_ms=60_000)))
    producer.call(producer.core.partitions_for("orders"))
    sent = producer.send()
    world.run_until(producer.core.close(), deadline_ms=10_000)
    assert producer.result(sent).offset == 0  # what was sent before is delivered
    assert coordinator.ended == [False]


def test_closing_by_force_fails_a_commit_that_waits(
    coordinator: ScriptedCoordinator, producer: Producer, world: World
) -> None:
    ready(producer)
    producer.result(producer.send())
    coordinator.silent.add(END_TXN)
    committing = producer.started(producer.core.transactional.commit_transaction())
    world.run_for(ms=100)
    world.run_until(producer.core.close(0))
    with pytest.raises(ProducerError, match="closed before the transaction ended"):
        world.run_until(committing)


def test_a_failed_transaction_refuses_a_record_behind_one_that_waits(
    coordinator: ScriptedCoordinator, producer: Producer
) -> None:
    ready(producer)
    waiting = producer.core.send("unknown", b"waits for metadata")
    assert not waiting.done()
    producer.core.transactional._manager.maybe_transition_to_error_state(BrokerError(ErrorCode.INVALID_TXN_STATE, "x"))
    refused = producer.core.send("unknown", b"behind it")
    assert isinstance(refused.exception(0), TransactionInError)
