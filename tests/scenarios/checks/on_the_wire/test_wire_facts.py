from __future__ import annotations

from typing import Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts, WireWatch, finding_of
from broker_scenarios.findings import FindingKind
from broker_scenarios.workloads.values import value_bytes
from broker_sim.control.events import RequestReceived
from broker_sim.faults.interception import FaultPoint
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.record_batch import RecordBatchBuilder


class Observed:
    """The rules and the journal of a cluster, as far as the watch needs them."""

    def observe(self, _: Any, observer: Any) -> None:
        self.received = observer

    def now_us(self) -> int:
        return 1_000


def watched(point: FaultPoint) -> list[SentBatch]:
    observed: Any = Observed()
    watch = WireWatch(observed, observed)
    observed.received(point)
    return watch.batches


def records(*values: int, producer_id: int = 7) -> bytes:
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=2, base_sequence=9)
    for value in values:
        builder.append(0, None, value_bytes(value, 8))
    return builder.build()


def produce(*parts: bytes | None, places: tuple[tuple[str, int | None], ...], **point: Any) -> FaultPoint:
    data = [PartitionProduceData(index=number, records=part) for number, part in enumerate(parts)]
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="orders", partition_data=data)])
    given = {"broker_id": 3, "api_key": ApiKey.PRODUCE, "request_id": 4, "client_id": "app", "connection_id": "c"}
    return FaultPoint(**{**given, "request": request, "find_places": lambda: places, **point})


PLACES = (("orders", 0), ("orders", 1))


def test_each_batch_of_a_request_has_its_place_its_ids_and_its_values() -> None:
    first, second, third = watched(produce(records(1, 2) + records(3), records(4), places=PLACES))
    assert first[:7] == (1_000, "app", "c", 3, 4, "orders", 0)
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.records, first.acks) == (7, 2, 9, 2, 1)
    assert [each.values for each in (first, second, third)] == [(1, 2), (3,), (4,)]
    assert [each.place for each in (first, second, third)] == [("orders", 0), ("orders", 0), ("orders", 1)]
    assert first.request == (3, 4)
    assert first.checksum != second.checksum


def test_a_part_of_an_unknown_topic_or_without_records_has_no_batch() -> None:
    [only] = watched(produce(records(1), records(2), places=(("", None), ("orders", 1))))
    assert (only.values, only.place) == ((2,), ("orders", 1))
    assert watched(produce(None, places=PLACES)) == []


@pytest.mark.parametrize(
    "point", [{"api_key": ApiKey.FETCH}, {"replica_id": 0}, {"replica_id": 2}, {"request": None}, {"api_key": None}]
)
def test_other_requests_and_invalid_ones_have_no_batch(point: dict[str, Any]) -> None:
    assert watched(produce(records(1), places=PLACES, **point)) == []


def test_a_client_without_an_id_has_an_empty_one() -> None:
    [only] = watched(produce(records(1), places=PLACES, client_id=None, connection_id=None))
    assert (only.client_id, only.connection_id) == ("", "")


def test_batches_are_read_up_to_the_first_that_is_damaged() -> None:
    assert [each.values for each in watched(produce(records(1) + records(2)[:-4], places=PLACES))] == [(1,)]


def test_a_finding_names_the_first_value_of_its_batch_if_it_has_one() -> None:
    [batch] = watched(produce(records(5, 6), places=PLACES))
    finding = finding_of(FindingKind.WIRE_SEQ, batch, "d")
    assert (finding.value_id, finding.values, finding.producer_id) == (5, (5, 6), 7)
    assert finding_of(FindingKind.WIRE_SEQ, batch._replace(values=()), "d").value_id == -1


def test_the_requests_of_brokers_are_none_of_clients() -> None:
    def received(replica_id: int) -> RequestReceived:
        return RequestReceived(
            time_us=0, broker_id=1, api="Fetch", api_version=3, request_id=1, connection_id="c", client_id=None,
            replica_id=replica_id,
        )  # fmt: skip

    journal = [received(-1), received(0), received(2)]
    facts = WireFacts(batches=(), journal=journal, history=(), operations=(), clients={}, configs={})
    assert facts.requests == journal[:1]
