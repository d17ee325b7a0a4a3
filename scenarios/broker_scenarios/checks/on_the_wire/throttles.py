"""wire-throttle: a client sends nothing to a broker for the `throttle_time_ms` of its response (KIP-219).

The broker does not read for that time. What it finds when it reads again was sent before: a client that waits sends
later. A client that gives up and sends on a new connection within the time does not wait either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import Finding, FindingKind
from broker_sim.control.events import ConnectionOpened, RequestReceived, ResponseSent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["ignored_throttles"]

_READ_AT_ONCE_US: Final = 50
"""A request that is read within this time after the window had arrived before its end."""


def ignored_throttles(facts: WireFacts) -> Iterator[Finding]:
    """Find the requests that were sent within the throttle time of their connection."""
    if not facts.responds_before_throttling:
        return
    opened_us = {event.connection_id: event.time_us for event in facts.journal if type(event) is ConnectionOpened}
    received = {(event.broker_id, event.request_id): event for event in facts.requests}
    throttling = [each for place, each in facts.responses.items() if each.throttle_us and place in received]
    events: list[RequestReceived | ResponseSent] = [*facts.requests, *throttling]
    windows: dict[tuple[str | None, int, str], ResponseSent] = {}
    for event in sorted(events, key=lambda event: event.time_us):
        request = received[event.broker_id, event.request_id]
        key = (request.client_id, request.broker_id, request.api)
        if isinstance(event, ResponseSent):
            windows[key] = event
            continue
        window = windows.get(key)
        if window is None or event.time_us > window.time_us + window.throttle_us + _READ_AT_ONCE_US:
            continue
        if event.connection_id == window.connection_id or opened_us.get(event.connection_id, 0) > window.time_us:
            after_ms, throttle_ms = (event.time_us - window.time_us) / 1000, window.throttle_us / 1000
            yield Finding(
                kind=FindingKind.WIRE_THROTTLE,
                topic="",
                partition=-1,
                value_id=-1,
                detail=(
                    f"request {event.request_id} ({event.api}) of {event.client_id} to broker {event.broker_id}, "
                    f"{after_ms:g} ms after a response with a throttle time of {throttle_ms:g} ms"
                ),
                complete_us=event.time_us,
            )
