"""Epochs and producer ids of transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.coordinators.transactions.transactional_producer import ORDERS, TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def test_a_producer_whose_epochs_are_exhausted_gets_another_id(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    metadata = producer.metadata
    first_id = metadata.producer_id
    metadata.producer_epoch = producer.epoch = 32_765
    producer.init()
    assert (producer.producer_id, producer.epoch) == (first_id, 32_766)
    producer.init(given=(producer.producer_id, producer.epoch))
    assert (producer.producer_id != first_id, producer.epoch) == (True, 0)
    repeated = producer.init(given=(first_id, 32_766))
    assert repeated.error_code == 0


def test_an_end_of_transactions_v2_increments_the_epoch(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    for commit in (True, False, True):
        epoch = producer.epoch
        assert producer.send(ORDERS, str(commit).encode(), version=12) == 0
        assert producer.end(commit=commit, version=5).error_code == 0
        assert producer.epoch == epoch + 1
        api.reactor.run_for(ms=100)
    assert producer.read(ORDERS) == [b"True", b"True"]


def test_exhausted_epochs_of_transactions_v2_go_over_to_another_id(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    producer = TransactionalProducer(api)
    producer.init()
    first_id = producer.producer_id
    producer.metadata.producer_epoch = producer.epoch = 32_766
    assert producer.send(ORDERS, version=12) == 0
    assert producer.end(commit=True, version=5).error_code == 0
    assert (producer.producer_id != first_id, producer.epoch) == (True, 0)
    api.reactor.run_for(ms=100)
    assert producer.send(ORDERS, version=12) == 0
    assert producer.end(commit=True, version=5).error_code == 0
    api.reactor.run_for(ms=100)
    assert producer.read(ORDERS) == [b"v", b"v"]
