"""One line per event of a transactional id, and the markers that belong to it."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import TransactionMarkerWritten, TransactionRequestRefused, TransactionStateChanged
from broker_sim.control.transaction_events import transaction_event_text, transactions_of

PRODUCER: dict[str, Any] = {"time_us": 0, "broker_id": 1, "producer_id": 7, "producer_epoch": 2}


def changed(transactional_id: str = "t", **values: Any) -> TransactionStateChanged:
    values = {"previous": "Empty", "state": "Ongoing", "partitions": ""} | values
    return TransactionStateChanged(**PRODUCER | {"transactional_id": transactional_id} | values)


def marker(**values: Any) -> TransactionMarkerWritten:
    where = {"topic": "orders", "partition": 3, "committed": True, "coordinator_epoch": 0, "error": "NONE"}
    return TransactionMarkerWritten(**PRODUCER | where | values)


def refused(**values: Any) -> TransactionRequestRefused:
    request = {"transactional_id": "t", "api": "EndTxn", "error": "PRODUCER_FENCED"}
    return TransactionRequestRefused(**PRODUCER | request | values)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (changed(partitions="orders-3"), "Empty > Ongoing, producer 7 epoch 2, partitions: orders-3"),
        (changed(reason="why", client_id="c"), "Empty > Ongoing, producer 7 epoch 2; why (client c)"),
        (marker(client_id="broker-1"), "orders-3 has the commit marker of producer 7 epoch 2"),
        (marker(committed=False), "orders-3 has the abort marker of producer 7 epoch 2"),
        (
            marker(client_id="admin", error="INVALID_PRODUCER_EPOCH"),
            "orders-3 refuses the commit marker of producer 7 epoch 2, sent by client admin: INVALID_PRODUCER_EPOCH",
        ),
        (refused(client_id="c"), "EndTxn of c, which has producer 7 epoch 2, is refused: PRODUCER_FENCED"),
        (refused(producer_id=-1), "EndTxn of a client without an id is refused: PRODUCER_FENCED"),
    ],
)
def test_each_event_has_a_line(event: Any, text: str) -> None:
    assert transaction_event_text(event) == text


def test_a_marker_belongs_to_the_id_that_has_the_producer_then() -> None:
    early, own, other = marker(), marker(), marker(producer_id=8)
    first, second, unknown = changed("t"), changed("u", producer_id=8), refused(transactional_id="x")
    events = [early, first, second, own, other, unknown]
    assert transactions_of(events) == {"t": [first, own], "u": [second, other], "x": [unknown]}
