"""Requests in flight: responses complete the oldest, and their number per connection is limited."""

from __future__ import annotations

import pytest

from broker_client.core.network.in_flight_requests import InFlightRequest, InFlightRequests
from broker_client.errors import IllegalState
from protocol_specs.messages.produce import ProduceRequest

NEVER_MS = 1 << 62


def request(number: int, node: int = 1, sent_ms: int = 0, timeout_ms: int = 1_000) -> InFlightRequest:
    return InFlightRequest(
        node_id=node,
        correlation_id=number,
        request=ProduceRequest(acks=-1),
        api_version=9,
        expect_response=True,
        is_internal=False,
        created_ms=sent_ms,
        sent_ms=sent_ms,
        timeout_ms=timeout_ms,
        callback=None,
    )


def test_responses_complete_the_oldest_request() -> None:
    requests = InFlightRequests(5)
    for number in range(3):
        requests.add(request(number))
    assert [requests.complete_next(1).correlation_id for _ in range(3)] == [0, 1, 2]
    with pytest.raises(IllegalState, match="no in-flight requests for node 1"):
        requests.complete_next(1)


def test_the_next_may_go_when_the_newest_is_written_and_there_is_room() -> None:
    requests = InFlightRequests(2)
    assert requests.can_send_more(1)
    requests.add(request(0))
    assert not requests.can_send_more(1)
    requests.last_sent(1).written = True
    assert requests.can_send_more(1)
    requests.add(request(1))
    requests.last_sent(1).written = True
    assert not requests.can_send_more(1)
    assert requests.can_send_more(2)


def test_a_lost_connection_ends_all_its_requests_oldest_first() -> None:
    requests = InFlightRequests(5)
    for number in range(3):
        requests.add(request(number))
    requests.add(request(9, node=2))
    assert [one.correlation_id for one in requests.clear_all(1)] == [0, 1, 2]
    assert (requests.count(), requests.count(1), requests.count(2)) == (1, 0, 1)


def test_time_that_the_broker_throttled_does_not_count() -> None:
    requests = InFlightRequests(5)
    requests.add(request(0))
    assert requests.nodes_with_overdue_requests(1_000) == []
    assert requests.nodes_with_overdue_requests(1_001) == [1]
    requests.increment_throttle_time(1, 500)
    assert requests.nodes_with_overdue_requests(1_500) == []
    assert requests.next_overdue_ms(1_000, NEVER_MS) == 501
    assert InFlightRequests(1).next_overdue_ms(0, NEVER_MS) == NEVER_MS
