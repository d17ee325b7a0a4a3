"""A LateResponse passes its response on once, whichever side comes first."""

from __future__ import annotations

from broker_sim.links.late_response import LateResponse


def test_a_response_reaches_a_receiver_that_was_there_before() -> None:
    sent: list[tuple[object, object]] = []
    late = LateResponse()
    late.send_with(lambda response, context: sent.append((response, context)), "context")
    assert sent == []
    late.respond("response")
    assert sent == [("response", "context")]


def test_a_response_waits_for_its_receiver() -> None:
    sent: list[tuple[object, object]] = []
    late = LateResponse()
    late.respond("response")
    late.send_with(lambda response, context: sent.append((response, context)), "context")
    assert sent == [("response", "context")]


def test_two_late_responses_share_nothing() -> None:
    sent: list[tuple[object, object]] = []
    first, second = LateResponse(), LateResponse()
    first.respond(1)
    second.send_with(lambda response, context: sent.append((response, context)), "second")
    assert sent == []
    second.respond(2)
    assert sent == [(2, "second")]
