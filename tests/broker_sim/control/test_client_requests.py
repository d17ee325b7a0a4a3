from __future__ import annotations

import pytest

from broker_sim.control.client_requests import client_requests
from broker_sim.control.events import BrokerKilled, RequestReceived
from broker_sim.control.journal import Journal


def received(api: str, client_id: str, replica_id: int = -1) -> RequestReceived:
    return RequestReceived(
        time_us=0,
        broker_id=1,
        api=api,
        api_version=0,
        request_id=1,
        connection_id="c",
        client_id=client_id,
        replica_id=replica_id,
    )


@pytest.mark.parametrize(
    ("api", "client_id", "expected"),
    [(None, None, [1, 2, 5]), ("Fetch", None, [2, 5]), (None, "a", [1, 2]), ("Fetch", "b", [5])],
)
def test_requests_of_clients_are_selected(api: str | None, client_id: str | None, expected: list[int]) -> None:
    journal = Journal(lambda: 0)
    for event in (
        received("Produce", "a"),
        received("Fetch", "a"),
        received("Fetch", "a", replica_id=2),
        BrokerKilled(time_us=0, broker_id=1),
        received("Fetch", "b"),
    ):
        journal.append(event)
    assert [sequence for sequence, _ in client_requests(journal, api, client_id)] == expected
