from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.apis.transaction_verification import Support, Verified, verified
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

ORDERS = TopicPartition("orders", 0)
PRODUCER = ProducerIdAndEpoch(7, 0)


class Verifier:
    """Returns the given errors, one set of them for each request."""

    def __init__(self, *errors: dict[TopicPartition, ErrorCode]) -> None:
        self.errors = list(errors)
        self.adds: list[bool] = []

    def verify(self, *arguments: Any, adds: bool) -> None:
        self.adds.append(adds)
        verified = arguments[-1]
        verified(self.errors.pop(0))

    def stop(self) -> None:
        """End with the broker."""


def verify(
    api: ApiBench, verifier: Verifier, support: Support, *partitions: TopicPartition
) -> Verified | Deferred[Verified]:
    api.cluster.brokers[1].coordinators.verifier = verifier  # type: ignore[assignment]
    context = api.context(ProduceRequest(), 9)
    return verified(context, "t", PRODUCER, dict.fromkeys(partitions or [ORDERS], 0), support)


def result_of(api: ApiBench, found: Any) -> Verified:
    result: Verified = api.reactor.run_until(found, deadline_ms=1000) if isinstance(found, Deferred) else found
    return result


def start(bench: Callable[..., ApiBench], **options: Any) -> ApiBench:
    return bench(topics=[TopicSpec(name="orders")], **options)


def test_a_verified_partition_has_a_guard(bench: Callable[..., ApiBench]) -> None:
    api = start(bench)
    verifier = Verifier({})
    found = result_of(api, verify(api, verifier, Support.DEFAULT))
    assert (found.errors, list(found.guards), verifier.adds) == ({}, [ORDERS], [False])


@pytest.mark.parametrize(
    ("support", "error_code"),
    [
        (Support.DEFAULT, ErrorCode.INVALID_TXN_STATE),
        (Support.ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (Support.ADDS_PARTITIONS, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_older_producers_do_not_know_abortable_errors(
    bench: Callable[..., ApiBench], support: Support, error_code: ErrorCode
) -> None:
    api = start(bench)
    found = result_of(api, verify(api, Verifier({ORDERS: ErrorCode.TRANSACTION_ABORTABLE}), support))
    assert (found.errors, found.guards) == ({ORDERS: error_code}, {})


def test_a_former_transaction_is_waited_for_when_partitions_are_added(bench: Callable[..., ApiBench]) -> None:
    api = start(bench)
    busy = {ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}
    verifier = Verifier(busy, busy, {})
    found = result_of(api, verify(api, verifier, Support.ADDS_PARTITIONS))
    assert (found.errors, len(verifier.adds)) == ({}, 3)
    longer = result_of(api, verify(api, Verifier(*[busy] * 9), Support.ADDS_PARTITIONS))
    assert longer.errors == busy


def test_partitions_that_are_not_here_are_not_verified(bench: Callable[..., ApiBench]) -> None:
    api = start(bench)
    unknown = TopicPartition("orders", 9)
    found = result_of(api, verify(api, Verifier({}), Support.DEFAULT, unknown))
    assert found.errors == {unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize(
    "options", [{"release": "3.5"}, {"config": {"transaction.partition.verification.enable": "false"}}]
)
def test_without_verification_nothing_is_requested(bench: Callable[..., ApiBench], options: dict[str, Any]) -> None:
    api = start(bench, **options)
    assert verify(api, Verifier(), Support.DEFAULT) == Verified()
