from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def make_request(transactional_id: str | None = None, **fields: Any) -> InitProducerIdRequest:
    timeout_ms = fields.pop("transaction_timeout_ms", 10_000)
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, **fields)


def test_first_response_of_a_broker_is_14_then_ids_are_consecutive(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    responses = []
    for _ in range(3):
        response = api.exchange(make_request(), 4)
        responses.append((response.error_code, response.producer_id, response.producer_epoch))
        api.settle()
    assert responses == [(14, -1, -1), (0, 0, 0), (0, 1, 0)]


@pytest.mark.parametrize("release", ["0.11", "2.4", "3.2", "3.5"])
def test_first_response_waits_for_ids_before_3_6(bench: Callable[..., ApiBench], release: str) -> None:
    api = bench(release=release, brokers=2)
    responses = [api.exchange(make_request(), 0, broker_id=broker_id) for broker_id in (1, 2, 1)]
    assert [(each.error_code, each.producer_id) for each in responses] == [(0, 0), (0, 1000), (0, 1)]


def test_brokers_have_blocks_of_their_own(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2)
    for broker_id in (1, 2):
        api.exchange(make_request(), 4, broker_id=broker_id)
        api.settle()
    assert [api.exchange(make_request(), 4, broker_id=broker_id).producer_id for broker_id in (1, 2)] == [0, 1000]


def test_id_that_the_producer_has_is_not_kept(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    api.exchange(make_request(), 4)
    api.settle()
    response = api.exchange(make_request(producer_id=55, producer_epoch=3), 4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 0, 0)


@pytest.mark.parametrize(
    ("request_", "error_code"),
    [
        (make_request(producer_id=5), 42),
        (make_request(producer_epoch=5), 42),
        (make_request(""), 42),
        (make_request("", transaction_timeout_ms=0), 42),
        (make_request("x", transaction_timeout_ms=0), 50),
        (make_request("x", transaction_timeout_ms=900_001), 50),
        (make_request("x", producer_id=7), 42),
        (make_request("x"), 16),
    ],
)
def test_bad_input_is_refused(bench: Callable[..., ApiBench], request_: InitProducerIdRequest, error_code: int) -> None:
    response = bench().exchange(request_, 4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (error_code, -1, -1)
