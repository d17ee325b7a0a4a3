"""The calls of transactions on scripted nodes: routes, retries, old versions, and how responses are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_client.admin_errors import ItemsFailed
from broker_client.core.admin.transactions import AbortTransactionSpec, FencedProducer, TransactionState
from broker_client.errors import ProducerError, ProducerTimeout, TopicAuthorizationFailed, UnsupportedVersion
from broker_client.records import TopicPartition
from broker_client.transaction_errors import (
    InvalidProducerEpoch,
    TransactionalIdAuthorizationFailed,
    TransactionalIdNotFound,
    TransactionCoordinatorFenced,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import describe_producers as producers
from protocol_specs.messages import describe_transactions as described
from protocol_specs.messages import list_transactions as listed
from protocol_specs.messages import write_txn_markers as markers
from protocol_specs.messages.init_producer_id import InitProducerIdResponse
from tests.client.core.admin.scripted_nodes import ScriptedNodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.admin.admin_core import AdminCore
    from sim_runtime.world import World

E: Final = ErrorCode
KEY: Final = TopicPartition("t", 0)
OTHER: Final = TopicPartition("t", 1)
SPEC: Final = AbortTransactionSpec(topic_partition=KEY, producer_id=7, producer_epoch=3, coordinator_epoch=2)


@pytest.fixture
def nodes(world: World) -> ScriptedNodes:
    return ScriptedNodes(world)


def failed(nodes: ScriptedNodes, call: Callable[[AdminCore], Any]) -> dict[Any, ProducerError]:
    """Return the errors of a call by item."""
    with pytest.raises(ItemsFailed) as error:
        nodes.run(call)
    return error.value.errors


def transaction(name: str, code: ErrorCode = E.NONE, state: str = "Ongoing", start_ms: int = 5) -> Any:
    return described.TransactionState(
        error_code=code,
        transactional_id=name,
        transaction_state=state,
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=start_ms,
        producer_id=7,
        producer_epoch=3,
        topics=[described.TopicData(topic="u", partitions=[0]), described.TopicData(topic="t", partitions=[1, 0])],
    )


def test_transactional_ids_are_described_by_their_coordinators(nodes: ScriptedNodes) -> None:
    states = {"a1": ("Ongoing", 5), "b2": ("Rare", -1), "c1": ("Empty", -1)}
    nodes.scripts["DescribeTransactions"] = lambda request: described.DescribeTransactionsResponse(
        transaction_states=[transaction(name, E.NONE, *states[name]) for name in (*request.transactional_ids, "c1")]
    )
    found = nodes.run(lambda admin: admin.describe_transactions(["b2", "a1"]))
    assert nodes.names() == [("FindCoordinator", None), ("DescribeTransactions", 2), ("DescribeTransactions", 1)]
    assert (nodes.requests[0][2].key_type, nodes.requests[0][2].coordinator_keys) == (1, ["b2", "a1"])
    assert list(found) == ["b2", "a1"]
    assert (found["a1"].state, found["a1"].transaction_start_time_ms) == (TransactionState.ONGOING, 5)
    assert (found["b2"].state, found["b2"].transaction_start_time_ms) == (TransactionState.UNKNOWN, None)
    assert (found["a1"].coordinator_id, found["b2"].coordinator_id) == (1, 2)
    assert found["a1"].topic_partitions == (KEY, OTHER, TopicPartition("u", 0))


def test_the_errors_of_transactional_ids_have_javas_classes(nodes: ScriptedNodes) -> None:
    codes = {
        "a1": E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "b1": E.TRANSACTIONAL_ID_NOT_FOUND,
        "c1": E.INVALID_REQUEST,
    }
    nodes.scripts["DescribeTransactions"] = lambda request: described.DescribeTransactionsResponse(
        transaction_states=[transaction(name, codes[name]) for name in request.transactional_ids]
    )
    errors = failed(nodes, lambda admin: admin.describe_transactions(list(codes)))
    assert isinstance(errors["a1"], TransactionalIdAuthorizationFailed)
    assert isinstance(errors["b1"], TransactionalIdNotFound)
    assert str(errors["c1"]) == "INVALID_REQUEST: transactional id 'c1'"
    nodes.coordinator_codes = [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    errors = failed(nodes, lambda admin: admin.fence_producers(["a1"]))
    assert isinstance(errors["a1"], TransactionalIdAuthorizationFailed)


@pytest.mark.parametrize(
    ("code", "look_ups"),
    [
        (E.COORDINATOR_LOAD_IN_PROGRESS, 1),
        (E.CONCURRENT_TRANSACTIONS, 1),
        (E.NOT_COORDINATOR, 2),
        (E.COORDINATOR_NOT_AVAILABLE, 2),
    ],
)
def test_producers_are_fenced_again_until_their_transaction_has_ended(
    nodes: ScriptedNodes, code: ErrorCode, look_ups: int
) -> None:
    responses = [
        InitProducerIdResponse(error_code=code),
        InitProducerIdResponse(error_code=E.NONE, producer_id=7, producer_epoch=4),
        InitProducerIdResponse(error_code=E.NONE, producer_id=8, producer_epoch=0),
    ]
    nodes.scripts["InitProducerId"] = lambda _: responses.pop(0)
    fenced = nodes.run(lambda admin: admin.fence_producers(["a1", "b1"]))
    # The second id is fenced in the first round: each has a request of its own.
    assert fenced["a1"] == FencedProducer(producer_id=8, producer_epoch=0)
    assert fenced["b1"] == FencedProducer(producer_id=7, producer_epoch=4)
    sent = [request for name, _, request in nodes.requests if name == "InitProducerId"]
    assert [one.transactional_id for one in sent] == ["a1", "b1", "a1"]
    assert {(one.producer_id, one.producer_epoch, one.transaction_timeout_ms) for one in sent} == {(-1, -1, 30_000)}
    assert sum(name == "FindCoordinator" for name, _ in nodes.names()) == look_ups


def test_a_refused_fencing_is_final(nodes: ScriptedNodes) -> None:
    nodes.scripts["InitProducerId"] = lambda _: InitProducerIdResponse(error_code=E.INVALID_TRANSACTION_TIMEOUT)
    errors = failed(nodes, lambda admin: admin.fence_producers(["a1"]))
    assert str(errors["a1"]) == "INVALID_TRANSACTION_TIMEOUT: transactional id 'a1'"


def test_brokers_before_transactions_have_no_coordinators_of_them(world: World) -> None:
    nodes = ScriptedNodes(world, {"FindCoordinator": 0})
    with pytest.raises(UnsupportedVersion, match=r"found from FindCoordinator v1 \(Kafka 0\.11\) on"):
        nodes.run(lambda admin: admin.fence_producers(["a1"]))


def listing(name: str, state: str = "Empty") -> listed.TransactionState:
    return listed.TransactionState(transactional_id=name, producer_id=7, transaction_state=state)


def test_transactional_ids_of_all_brokers_are_listed(nodes: ScriptedNodes) -> None:
    pages = [
        listed.ListTransactionsResponse(
            error_code=0, unknown_state_filters=[], transaction_states=[listing("z"), listing("b", "PrepareEpochFence")]
        ),
        listed.ListTransactionsResponse(
            error_code=E.COORDINATOR_LOAD_IN_PROGRESS, unknown_state_filters=[], transaction_states=[]
        ),
        listed.ListTransactionsResponse(
            error_code=0, unknown_state_filters=[], transaction_states=[listing("a", "Ongoing")]
        ),
    ]
    nodes.scripts["ListTransactions"] = lambda _: pages.pop(0)
    found = nodes.run(
        lambda admin: admin.list_transactions(
            states=[TransactionState.ONGOING], producer_ids=[7], duration_ms=10, transactional_id_pattern=".*"
        )
    )
    assert [(name, one.state) for name, one in found.items()] == [
        ("a", TransactionState.ONGOING),
        ("b", TransactionState.PREPARE_EPOCH_FENCE),
        ("z", TransactionState.EMPTY),
    ]
    assert nodes.names() == [
        ("Metadata", None),
        ("ListTransactions", 1),
        ("ListTransactions", 2),
        ("ListTransactions", 2),
    ]
    request = nodes.requests[1][2]
    assert (request.state_filters, request.producer_id_filters) == (["Ongoing"], [7])
    assert (request.duration_filter, request.transactional_id_pattern) == (10, ".*")


def test_a_broker_that_stops_or_refuses_is_not_requested_again(nodes: ScriptedNodes) -> None:
    codes = [E.COORDINATOR_NOT_AVAILABLE, E.INVALID_REGULAR_EXPRESSION]
    nodes.scripts["ListTransactions"] = lambda _: listed.ListTransactionsResponse(
        error_code=codes.pop(0), unknown_state_filters=[], transaction_states=[]
    )
    errors = failed(nodes, lambda admin: admin.list_transactions())
    assert {broker: one.error_code for broker, one in errors.items()} == {
        1: E.COORDINATOR_NOT_AVAILABLE,
        2: E.INVALID_REGULAR_EXPRESSION,
    }


def test_older_brokers_select_neither_by_duration_nor_by_pattern(world: World) -> None:
    nodes = ScriptedNodes(world, {"ListTransactions": 0})
    nodes.scripts["ListTransactions"] = lambda _: listed.ListTransactionsResponse(
        error_code=0, unknown_state_filters=[], transaction_states=[]
    )
    assert nodes.run(lambda admin: admin.list_transactions()) == {}
    with pytest.raises(UnsupportedVersion, match=r"by duration from ListTransactions v1 \(Kafka 3\.8\) on"):
        nodes.run(lambda admin: admin.list_transactions(duration_ms=0))
    with pytest.raises(UnsupportedVersion, match=r"by pattern from ListTransactions v2 \(Kafka 4\.1\) on"):
        nodes.run(lambda admin: admin.list_transactions(transactional_id_pattern=""))


def partition_states(codes: dict[int, list[ErrorCode]]) -> Callable[[Any], producers.DescribeProducersResponse]:
    """A script of DescribeProducers: the codes of each partition, one after another."""

    def respond(request: Any) -> producers.DescribeProducersResponse:
        state = producers.ProducerState(
            producer_id=7, producer_epoch=3, last_sequence=9, last_timestamp=5, coordinator_epoch=-1
        )
        return producers.DescribeProducersResponse(
            topics=[
                producers.TopicResponse(
                    name=topic.name,
                    partitions=[
                        producers.PartitionResponse(
                            partition_index=number, error_code=codes[number].pop(0), active_producers=[state]
                        )
                        for number in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )

    return respond


def test_producers_are_described_by_leaders_that_may_move(nodes: ScriptedNodes) -> None:
    nodes.scripts["DescribeProducers"] = partition_states(
        {0: [E.NOT_LEADER_OR_FOLLOWER, E.NONE], 1: [E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE]}
    )
    found = nodes.run(lambda admin: admin.describe_producers([OTHER, KEY]))
    assert list(found) == [OTHER, KEY]
    (state,) = found[KEY]
    assert (state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp_ms) == (7, 3, 9, 5)
    assert (state.coordinator_epoch, state.current_transaction_start_offset) == (None, None)
    assert nodes.names() == [("DescribeProducers", 2), ("DescribeProducers", 1)] * 2
    assert nodes.refreshes == 1


def test_a_named_broker_describes_producers_or_refuses(nodes: ScriptedNodes) -> None:
    nodes.scripts["DescribeProducers"] = partition_states(
        {0: [E.NOT_LEADER_OR_FOLLOWER], 1: [E.UNKNOWN_TOPIC_OR_PARTITION, E.TOPIC_AUTHORIZATION_FAILED]}
    )
    errors = failed(nodes, lambda admin: admin.describe_producers([KEY, OTHER], broker_id=2))
    assert errors[KEY].error_code is E.NOT_LEADER_OR_FOLLOWER
    assert isinstance(errors[OTHER], TopicAuthorizationFailed)
    assert nodes.names() == [("DescribeProducers", 2)] * 2
    with pytest.raises(ProducerTimeout, match="broker 9 is not among the brokers 1, 2"):
        nodes.run(lambda admin: admin.describe_producers([KEY], broker_id=9))


def written(code: ErrorCode, key: TopicPartition = KEY) -> markers.WriteTxnMarkersResponse:
    partition = markers.WritableTxnMarkerPartitionResult(partition_index=key.partition, error_code=code)
    topic = markers.WritableTxnMarkerTopicResult(name=key.topic, partitions=[partition])
    return markers.WriteTxnMarkersResponse(markers=[markers.WritableTxnMarkerResult(producer_id=7, topics=[topic])])


def test_a_transaction_is_aborted_by_a_marker_to_the_leader(nodes: ScriptedNodes) -> None:
    responses = [
        *(
            written(code)
            for code in (
                E.NOT_LEADER_OR_FOLLOWER,
                E.REPLICA_NOT_AVAILABLE,
                E.BROKER_NOT_AVAILABLE,
                E.UNKNOWN_TOPIC_OR_PARTITION,
            )
        ),
        written(E.NONE),
    ]
    nodes.scripts["WriteTxnMarkers"] = lambda _: responses.pop(0)
    nodes.run(lambda admin: admin.abort_transaction(SPEC))
    assert nodes.names() == [("WriteTxnMarkers", 1)] * 5
    assert nodes.refreshes == 4
    (marker,) = nodes.requests[0][2].markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, 2)
    assert (marker.transaction_result, marker.transaction_version) == (False, 0)
    assert [(topic.name, topic.partition_indexes) for topic in marker.topics] == [("t", [0])]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (E.INVALID_PRODUCER_EPOCH, InvalidProducerEpoch),
        (E.TRANSACTION_COORDINATOR_FENCED, TransactionCoordinatorFenced),
        (E.CLUSTER_AUTHORIZATION_FAILED, ProducerError),
        (E.NOT_ENOUGH_REPLICAS, ProducerError),
    ],
)
def test_a_refused_marker_is_final(nodes: ScriptedNodes, code: ErrorCode, kind: type[ProducerError]) -> None:
    nodes.scripts["WriteTxnMarkers"] = lambda _: written(code)
    errors = failed(nodes, lambda admin: admin.abort_transaction(SPEC))
    assert isinstance(errors[KEY], kind)
    assert errors[KEY].error_code is code
    assert "producer_id=7, producer_epoch=3, coordinator_epoch=2" in str(errors[KEY])


def test_a_response_without_the_marker_is_no_success(nodes: ScriptedNodes) -> None:
    nodes.scripts["WriteTxnMarkers"] = lambda _: written(E.NONE, OTHER)
    with pytest.raises(ProducerError, match="node 1 left t-0 out of its response to WriteTxnMarkers"):
        nodes.run(lambda admin: admin.abort_transaction(SPEC))
