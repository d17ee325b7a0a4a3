"""Produce, as raw probes see it: transactional batches without a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.init_producer_id import await_transactions, init
from tests.differential.requests import batch, idempotent, produce, produce_all, read_back

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def a_partition_that_is_not_in_the_transaction(probe: Probe) -> None:
    await_transactions(probe)
    topic = probe.topic()
    response: Any = probe.quiet(init(probe.name), 4)
    records = idempotent(response.producer_id, response.producer_epoch, 0, is_transactional=True)
    for version in range(3, 12):
        probe.exchange(produce(topic, records, transactional_id=probe.name), version)
    read_back(probe, topic)


@case()
def ids_without_init_producer_id(probe: Probe) -> None:
    await_transactions(probe)
    topic = probe.topic()
    records = idempotent(8_100, 0, 0, is_transactional=True)
    for version in (3, 9, 11):
        probe.exchange(produce(topic, records, transactional_id=f"{probe.name}-none"), version)
    probe.exchange(produce(topic, records, transactional_id=f"{probe.name}-none", acks=1), 9)
    read_back(probe, topic)


@case()
def transactional_and_plain_batches_together(probe: Probe) -> None:
    await_transactions(probe)
    topic = probe.topic(partitions=2)
    records = idempotent(8_200, 0, 0, is_transactional=True)
    entries = ((topic, 0, records), (topic, 1, batch(b"a")))
    probe.exchange(produce_all(*entries, transactional_id=f"{probe.name}-none"), 9)
    read_back(probe, topic, partition=1)


@case()
def without_a_producer_id(probe: Probe) -> None:
    topic = probe.topic()
    for transactional_id in (None, "t"):
        records = batch(b"a", is_transactional=True)
        probe.exchange(produce(topic, records, transactional_id=transactional_id), 9)


@case()
def two_producers_in_one_request(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    entries = ((topic, 0, idempotent(8_300, 0, 0)), (topic, 1, idempotent(8_301, 0, 0)))
    probe.exchange(produce_all(*entries), 9, note="idempotent")
    read_back(probe, topic)
    read_back(probe, topic, partition=1)
