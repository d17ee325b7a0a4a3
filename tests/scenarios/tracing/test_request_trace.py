from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.tracing.lists import request_list
from broker_scenarios.tracing.request_trace import requests_of, trace_request
from broker_scenarios.tracing.timeline_html import render_timeline
from broker_scenarios.tracing.timeline_text import timeline_lines
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import ConnectionClosed, ConnectionOpened, RequestReceived, ResponseSent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.tracing.request_trace import TracedRequest
    from broker_sim.control.events import Event

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"
CONNECTION = "b:1-c:2-3-0"


@pytest.fixture(scope="module")
def crash() -> Sequence[tuple[int, Event]]:
    run = VirtualRun(load_scenario(CATALOG / "leader-crash-acks-all.yaml").with_records(500), 7)
    run.run(None)
    return list(run.cluster.journal.numbered())


def slowest(events: Sequence[tuple[int, Event]], api: str) -> TracedRequest:
    return max(
        (each for each in requests_of(events) if each.request.api == api and not each.between_brokers),
        key=lambda each: each.total_us,
    )


def test_a_produce_that_waits_for_a_dead_follower_shows_its_wait(
    crash: Sequence[tuple[int, Event]],
) -> None:
    trace = trace_request(crash, slowest(crash, "Produce").number)
    purgatory = next(stage for stage in trace.stages if stage.name == "purgatory")
    assert purgatory.duration_us > 1_000_000
    texts = [moment.text for moment in trace.moments]
    assert texts[0].startswith("Processor ")
    assert texts[1].startswith("appended to orders-")
    assert texts.index("broker 1 is killed") < texts.index("broker 1 is fenced")
    completed = next(place for place, text in enumerate(texts) if "completes: base offset" in text)
    watermark = next(
        place for place, text in enumerate(texts) if text.startswith("the high watermark") and place > completed - 3
    )
    assert texts.index("broker 1 is fenced") < watermark < completed
    assert texts[-1].startswith("the response of ")


def test_stages_follow_each_other_and_add_up_to_the_whole(crash: Sequence[tuple[int, Event]]) -> None:
    for traced in requests_of(crash)[:200]:
        if traced.response is None or traced.between_brokers:
            continue
        trace = trace_request(crash, traced.number)
        ends = [stage.start_us + stage.duration_us for stage in trace.stages]
        assert [stage.start_us for stage in trace.stages] == [0, *ends[:-1]]
        assert ends[-1] == traced.total_us
        assert all(0 <= moment.at_us <= traced.total_us for moment in trace.moments)


def test_every_response_is_paired_with_its_own_request(crash: Sequence[tuple[int, Event]]) -> None:
    for traced in requests_of(crash):
        if traced.response is not None:
            assert traced.response.api == traced.request.api
            assert traced.response.time_us - traced.request.time_us == traced.total_us


def request(number: int, **changes: object) -> tuple[int, Event]:
    values: dict[str, object] = {
        "time_us": 100,
        "broker_id": 1,
        "api": "Produce",
        "api_version": 9,
        "request_id": 5,
        "connection_id": CONNECTION,
        "client_id": "<b>",
    }
    return number, RequestReceived(**(values | changes))  # type: ignore[arg-type]


def test_a_request_whose_connection_ends_shows_it() -> None:
    opened = ConnectionOpened(time_us=40, broker_id=1, connection_id=CONNECTION, listener="PLAINTEXT", client_host="c")
    closed = ConnectionClosed(time_us=350, broker_id=1, connection_id=CONNECTION, reason="the peer closed it")
    later = ResponseSent(time_us=900, broker_id=1, api="Produce", request_id=6, connection_id=CONNECTION)
    trace = trace_request([(1, opened), request(2), (3, closed), (4, later)], 2)
    assert trace.source == f"{CONNECTION}: the Acceptor of PLAINTEXT took it at 0.000000 s"
    assert [(moment.at_us, moment.text) for moment in trace.moments] == [
        (0, "Processor 3 has read it"),
        (250, "the connection ends without a response: the peer closed it"),
    ]


def test_a_request_without_response_shows_it_too() -> None:
    lines = list(timeline_lines(trace_request([request(2)], 2)))
    assert lines[0] == "Produce v9 from <b> on broker 1, at 0.000000 s"
    assert lines[-1] == "  +0.000 ms  no response is written before the journal ends"
    assert request_list(requests_of([request(2)]), 100)[-1].split() == [
        *("2", "0.000000", "s", "1", "Produce", "9", "<b>", "no", "response")
    ]


def test_names_are_text_on_the_page() -> None:
    page = render_timeline(trace_request([request(2)], 2))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_number_that_is_no_request_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"event 3 of the journal is no request \(--request\)"):
        trace_request([request(2)], 3)
