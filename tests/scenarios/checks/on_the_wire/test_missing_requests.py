from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts
from broker_scenarios.checks.wire_check import check_wire
from broker_scenarios.history import EventType, HistoryEvent
from broker_scenarios.playing.run_history import Operation
from broker_sim.control.events import RequestReceived

if TYPE_CHECKING:
    from broker_scenarios.findings import Finding
    from broker_sim.control.events import Event

BATCH = SentBatch(
    at_us=5, client_id="app", connection_id="c", broker_id=1, request_id=1, topic="orders", partition=0, producer_id=7,
    producer_epoch=0, base_sequence=0, records=2, checksum=1, acks=-1, values=(4, 5),
)  # fmt: skip


def found(
    check: str,
    *,
    batches: tuple[SentBatch, ...] = (),
    journal: list[Event] | None = None,
    acks: str = "all",
    **facts: Any,
) -> list[Finding]:
    given = {"history": (), "operations": (), "clients": {0: "app"}, **facts}
    wire = WireFacts(batches=batches, journal=journal or [], configs={"app": {"acks": acks}}, **given)
    result = check_wire(wire, [check])
    assert result.crashes == []
    return result.findings


def ended(outcome: EventType, value_id: int, process: int = 0) -> HistoryEvent:
    return HistoryEvent(
        run_id="", process=process, producer_id=7, index=3, type=outcome.value, time_us=9, topic="orders", partition=0,
        key=None, value_id=value_id, size_bytes=1, offset=-1, timestamp_ms=0, error_code=0, error=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "value_id", "acks", "findings"),
    [
        (EventType.OK, 5, "all", 0),
        (EventType.OK, 6, "all", 1),
        (EventType.OK, 6, "1", 1),
        (EventType.OK, 6, "0", 0),  # no more than a record that was sent
        (EventType.INVOKE, 6, "all", 0),
        (EventType.FAIL, 6, "all", 0),
        (EventType.INFO, 6, "all", 0),
    ],
)
def test_an_acknowledged_record_was_in_a_request(outcome: EventType, value_id: int, acks: str, findings: int) -> None:
    each = found("wire-no-produce", batches=(BATCH,), history=[ended(outcome, value_id)], acks=acks)
    assert [(finding.value_id, finding.index, finding.complete_us) for finding in each] == [(6, 3, 9)] * findings


def test_the_request_of_another_client_brings_no_acknowledgement_about() -> None:
    of_another = BATCH._replace(client_id="other")
    assert len(found("wire-no-produce", batches=(of_another,), history=[ended(EventType.OK, 5)])) == 1
    assert len(found("wire-no-produce", batches=(BATCH,), history=[ended(EventType.OK, 5, process=1)])) == 1


def transaction(**values: Any) -> Operation:
    given = {"process": 0, "f": "txn", "invoked_us": 10, "completed_us": 20, "type": EventType.OK}
    return Operation(**{**given, "mops": [["send", "orders-0", 5], ["poll", {}]], **values})


def end(at_us: int, api: str = "EndTxn", client_id: str | None = "app") -> Event:
    return RequestReceived(
        time_us=at_us, broker_id=1, api=api, api_version=3, request_id=1, connection_id="c", client_id=client_id
    )


@pytest.mark.parametrize(
    ("requests", "findings"),
    [
        ([], 1),
        ([end(15)], 0),
        ([end(10)], 0),
        ([end(20)], 0),
        ([end(9), end(21)], 1),
        ([end(15, api="Produce")], 1),
        ([end(15, client_id="other")], 1),
        ([end(15, client_id=None)], 1),
        ([end(15, client_id="other"), end(16)], 0),
    ],
)
def test_a_commit_has_an_end_while_it_lasts(requests: list[Event], findings: int) -> None:
    each = found("wire-no-endtxn", journal=requests, operations=[transaction()])
    assert [(finding.values, finding.complete_us) for finding in each] == [((5,), 20)] * findings


@pytest.mark.parametrize(
    "values",
    [
        {"type": EventType.FAIL},
        {"type": EventType.INFO},
        {"type": None, "completed_us": -1},
        {"f": "send"},
        {"mops": [["poll", {}]]},
        {"mops": []},
    ],
)
def test_only_a_commit_of_records_needs_an_end(values: dict[str, Any]) -> None:
    assert found("wire-no-endtxn", operations=[transaction(**values)]) == []


def test_a_client_without_an_id_is_itself() -> None:
    assert found("wire-no-endtxn", journal=[end(15, client_id=None)], operations=[transaction()], clients={0: ""}) == []
