from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts
from broker_scenarios.checks.wire_check import NEEDS_BROKERS, WIRE_CHECKS, check_wire
from broker_scenarios.history import HistoryEvent
from broker_sim.control.events import (
    ConnectionClosed,
    ConnectionOpened,
    LeaderElected,
    ProduceCompleted,
    RequestReceived,
    ResponseSent,
    RuleFired,
    ThrottleEnded,
)

if TYPE_CHECKING:
    from broker_sim.control.events import Event


def batch(at_ms: float, request: int = 1, **values: Any) -> SentBatch:
    given = {
        "at_us": round(at_ms * 1000), "client_id": "app", "connection_id": "c", "broker_id": 1, "request_id": request,
        "topic": "orders", "partition": 0, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "records": 1,
        "checksum": 1, "acks": -1, "values": (5,),
    }  # fmt: skip
    return SentBatch(**{**given, **values})


def refused(at_ms: float, request: int, error_code: int = 6) -> list[Event]:
    common: dict[str, Any] = {"time_us": round(at_ms * 1000), "broker_id": 1, "request_id": request}
    return [
        ProduceCompleted(
            **common, topic="orders", partition=0, error_code=error_code, base_offset=-1, required_offset=-1,
            high_watermark=0, leader_epoch=0, isr=(1,), acks=-1,
        ),
        ResponseSent(**common, api="Produce", connection_id="c"),
    ]  # fmt: skip


def counted(check: str, batches: list[SentBatch], journal: list[Event], **config: str) -> int:
    return len(details(check, batches, journal, **config))


def details(check: str, batches: list[SentBatch], journal: list[Event], **config: str) -> list[str]:
    facts = WireFacts(
        batches=batches, journal=journal, history=(), operations=(), clients={0: "app"}, configs={"app": config}
    )
    return [finding.detail for finding in check_wire(facts, [check]).findings]


@pytest.mark.parametrize(
    ("waits_ms", "config", "hasty"),
    [
        ((80, 160, 320), {}, 0),
        ((79, 160, 320), {}, 1),
        ((100, 100, 100), {}, 2),
        ((0, 160, 320), {}, 1),
        ((100, 100, 100), {"retry.backoff.max.ms": "100"}, 0),
        ((20, 40, 80), {"retry.backoff.ms": "20"}, 0),
    ],
)
def test_attempts_wait_longer_each_time(waits_ms: tuple[float, ...], config: dict[str, str], hasty: int) -> None:
    now_ms, batches, journal = 0.0, [batch(0)], refused(1, 1)
    for request, wait_ms in enumerate(waits_ms, 2):
        now_ms = journal[-1].time_us / 1000 + wait_ms
        batches.append(batch(now_ms, request))
        journal += refused(now_ms + 1, request)
    assert counted("wire-rate", batches, journal, **config) == hasty


def test_a_retry_at_another_broker_needs_no_wait() -> None:
    assert counted("wire-rate", [batch(0), batch(1.1, 2, broker_id=2)], refused(1, 1)) == 0


@pytest.mark.parametrize(
    ("acks", "error_code", "closed_ms", "hasty"),
    [
        (-1, 6, None, 1),
        (0, 6, None, 0),  # no response: a repetition of the application's
        (-1, 10, None, 0),  # the parts of a batch that was too large go out at once
        (-1, None, 5, 1),  # the connection was lost
        (-1, None, None, 0),
    ],
)
def test_the_wait_begins_with_the_end_of_the_attempt(
    acks: int, error_code: int | None, closed_ms: float | None, hasty: int
) -> None:
    journal = [] if error_code is None else refused(5, 1, error_code)
    if closed_ms is not None:
        journal.append(ConnectionClosed(time_us=round(closed_ms * 1000), broker_id=1, connection_id="c", reason="lost"))
    assert counted("wire-rate", [batch(0, acks=acks), batch(6, 2, acks=acks)], journal) == hasty


@pytest.mark.parametrize(
    ("producer_id", "error_code", "checksum", "findings"),
    [(7, 6, 2, 1), (7, 6, 1, 0), (7, 10, 2, 0), (-1, 6, 2, 0), (0, 6, 2, 1)],
)
def test_a_batch_that_is_sent_again_is_the_same(
    producer_id: int, error_code: int, checksum: int, findings: int
) -> None:
    again = batch(2, 2, producer_id=producer_id, checksum=checksum)
    first = batch(0, producer_id=producer_id)
    assert counted("wire-batch-identity", [first, again], refused(1, 1, error_code)) == findings
    assert counted("wire-batch-identity", [first, again._replace(checksum=1, records=2)], []) == (producer_id >= 0)


@pytest.mark.parametrize(("later_ms", "findings"), [(900, 0), (1_000, 0), (1_000.001, 1)])
def test_a_fenced_producer_sends_nothing_more(later_ms: float, findings: int) -> None:
    again = batch(1 + later_ms, 2, base_sequence=1)
    assert counted("wire-epoch", [batch(0), again], refused(1, 1, error_code=47)) == findings


@pytest.mark.parametrize(("producer_id", "partition", "findings"), [(7, 0, 1), (7, 1, 0), (0, 0, 1), (-1, 0, 0)])
def test_a_producer_never_goes_back_to_an_earlier_epoch(producer_id: int, partition: int, findings: int) -> None:
    newer = batch(0, producer_id=producer_id, producer_epoch=1)
    assert counted("wire-epoch", [newer, batch(1, 2, producer_id=producer_id, partition=partition)], []) == findings


def test_each_batch_of_an_earlier_epoch_is_found() -> None:
    old = [batch(at, at, base_sequence=at) for at in (1, 2)]
    assert details("wire-epoch", [batch(0, producer_epoch=1), *old], []) == [
        f"request {number} of app to broker 1, producer 7 sends epoch 0 after epoch 1" for number in (1, 2)
    ]
    late = [batch(at, at, base_sequence=at, client_id=f"old-{at}") for at in (2, 3)]
    journal = [event for number in (1, 2, 3) for event in refused(number + 0.5, number, error_code=0)]
    assert counted("wire-epoch", [batch(1, 1, producer_epoch=1), *late], journal) == 2
    [fenced] = details("wire-epoch", [batch(0), batch(1_101, 2, base_sequence=1)], refused(1, 1, error_code=47))
    assert fenced.endswith("producer 7 sends epoch 0, which was fenced 1,100.000 ms before")


@pytest.mark.parametrize(("error_code", "findings"), [(0, 1), (47, 0)])
def test_a_leader_stores_no_batch_behind_a_newer_epoch(error_code: int, findings: int) -> None:
    newer, late = batch(0, client_id="new", producer_epoch=1), batch(1, 2, client_id="old")
    journal = [*refused(0.5, 1, error_code=0), *refused(1.5, 2, error_code=error_code)]
    assert counted("wire-epoch", [newer, late], journal) == findings
    assert counted("wire-epoch", [newer, late._replace(partition=1)], journal) == 0


def test_a_producer_without_a_response_does_not_know_that_it_is_fenced() -> None:
    result, response = refused(1, 1, error_code=47)
    again = batch(2_000, 2, base_sequence=1)
    assert counted("wire-epoch", [batch(0), again], [result]) == 0
    assert counted("wire-epoch", [batch(0), again], refused(1, 1, error_code=6)) == 0
    assert counted("wire-epoch", [batch(0), again], [result, response]) == 1


def elected(at_ms: float, broker_id: int, epoch: int) -> Event:
    return LeaderElected(
        time_us=round(at_ms * 1000), broker_id=broker_id, topic="orders", partition=0, previous_leader=-1,
        leader_epoch=epoch, isr=(1,), unclean=False,
    )  # fmt: skip


def test_a_broker_that_never_led_is_a_wrong_node() -> None:
    assert counted("wire-stale-leader", [batch(5), batch(6, broker_id=3)], [elected(0, 1, 0)]) == 1


def test_a_former_leader_is_stale_once_its_successor_has_taken_records() -> None:
    journal = [elected(0, 1, 0), elected(5, 2, 1)]
    old, new = batch(6, 2), batch(7, 3, broker_id=2)
    assert counted("wire-stale-leader", [old, new], journal) == 0
    assert counted("wire-stale-leader", [new, batch(8, 4)], journal) == 1
    assert counted("wire-stale-leader", [new, batch(9, 4)], [*journal, elected(8, 1, 2)]) == 0
    assert counted("wire-stale-leader", [new, batch(8, 4)], [*journal, *refused(7.5, 3)]) == 1
    assert counted("wire-stale-leader", [new, new], journal) == 0


def test_a_refusal_shows_no_leader_and_an_election_counts_from_its_time_on() -> None:
    journal = [elected(0, 1, 0), elected(5, 2, 1), *refused(7.5, 3)]
    refused_by_the_new = batch(7, 3, broker_id=2)
    result = replace(journal[-2], broker_id=2)
    assert counted("wire-stale-leader", [refused_by_the_new, batch(8, 4)], [*journal[:2], result]) == 0
    assert counted("wire-stale-leader", [batch(4, 2, broker_id=2)], journal[:2]) == 1
    assert counted("wire-stale-leader", [batch(5, 2, broker_id=2)], journal[:2]) == 0


@pytest.mark.parametrize(
    ("base", "records", "findings"), [((0, 2, 3), (2, 1, 1), 0), ((0, 3), (2, 1), 1), ((2**31 - 1, 0), (1, 1), 0)]
)
def test_sequences_are_contiguous_and_wrap(base: tuple[int, ...], records: tuple[int, ...], findings: int) -> None:
    batches = [batch(at, at, base_sequence=one, records=records[at]) for at, one in enumerate(base)]
    assert counted("wire-seq", [*batches, batches[0]], []) == findings


@pytest.mark.parametrize(("error_code", "findings"), [(10, 0), (6, 1)])
def test_the_parts_of_a_batch_that_was_too_large_have_its_sequences(error_code: int, findings: int) -> None:
    whole = batch(0, 1, base_sequence=0, records=4)
    parts = [batch(2, 2, base_sequence=0, records=1), batch(3, 3, base_sequence=3, records=1)]
    after = batch(4, 4, base_sequence=4)
    assert counted("wire-seq", [whole, *parts, after], refused(1, 1, error_code)) == findings


@pytest.mark.parametrize(
    ("producer_id", "base", "findings"), [(-1, (-1, -1), 0), (-1, (0, 5), 0), (0, (0, 5), 1), (7, (-5, -4), 2)]
)
def test_sequences_are_those_of_a_producer_id(producer_id: int, base: tuple[int, int], findings: int) -> None:
    batches = [batch(at, at, producer_id=producer_id, base_sequence=one) for at, one in enumerate(base)]
    assert counted("wire-seq", batches, []) == findings


@pytest.mark.parametrize(
    ("base", "wanted"),
    [((2, 0), "sends 0, 3 was next"), ((0, 7), "sends 7, 1 was next"), ((0, -1), "none is negative")],
)
def test_a_broken_sequence_is_shown_with_the_one_that_was_next(base: tuple[int, int], wanted: str) -> None:
    [detail] = details("wire-seq", [batch(at, at, base_sequence=one) for at, one in enumerate(base)], [])
    assert detail.endswith(wanted)


def test_each_check_is_made_only_where_it_is_named() -> None:
    assert counted("wire-idempotence", [batch(0, producer_id=-1)], []) == 1
    assert counted("wire-idempotence", [batch(0, producer_id=-1)], [], **{"enable.idempotence": "false"}) == 0
    assert counted("wire-idempotence", [batch(0, producer_id=0)], []) == 0
    assert counted("wire-seq", [batch(0, producer_id=-1)], []) == 0
    assert set(WIRE_CHECKS) > NEEDS_BROKERS


def received(at_ms: float, api: str = "Metadata", version: int = 12, connection: str = "c") -> RequestReceived:
    return RequestReceived(
        time_us=round(at_ms * 1000), broker_id=1, api=api, api_version=version, request_id=1, connection_id=connection,
        client_id="app",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("api", "every_ms", "requests", "findings"),
    [
        ("Metadata", 10, 60, 1),
        ("Metadata", 10, 50, 0),
        ("Metadata", 20, 200, 0),
        ("Fetch", 1, 200, 0),
        ("JoinGroup", 1, 200, 1),
    ],
)
def test_a_request_without_a_pause_is_a_hot_loop(api: str, every_ms: float, requests: int, findings: int) -> None:
    journal: list[Event] = [received(number * every_ms, api) for number in range(requests)]
    assert counted("wire-hot-loop", [], journal) == findings
    later: list[Event] = [replace(event, time_us=event.time_us + 5_000_000) for event in journal]
    assert counted("wire-hot-loop", [], later) == findings
    assert all(
        each.endswith(f"after 50 others of this API on its connection within {50 * every_ms:.1f} ms")
        for each in details("wire-hot-loop", [], later)
    )


def test_requests_of_several_connections_or_of_brokers_are_no_loop() -> None:
    of_broker_0 = [replace(received(number), replica_id=0) for number in range(200)]
    assert counted("wire-hot-loop", [], [*of_broker_0]) == 0
    assert counted("wire-hot-loop", [], [received(number, connection=str(number)) for number in range(200)]) == 0


@pytest.mark.parametrize(
    ("release", "api", "version", "findings"),
    [
        ("3.9.2", "Fetch", 3, 1),
        ("3.9.2", "Fetch", 4, 0),
        (None, "Fetch", 3, 0),
        ("0.10.0", "Fetch", 1, 0),
        ("1.1", "JoinGroup", 1, 1),  # whose newest version is the oldest of 4.0
    ],
)
def test_a_removed_version_is_a_finding_where_a_newer_one_is_served(
    release: str | None, api: str, version: int, findings: int
) -> None:
    journal = [received(1, api, version), received(2, api, version)]
    facts = WireFacts(
        batches=[], journal=journal, history=(), operations=(), clients={}, configs={}, release=release
    )  # fmt: skip
    result = check_wire(facts, ["wire-old-version"])
    assert (len(result.findings), result.crashes) == (findings, [])


@pytest.mark.parametrize(("error_code", "findings"), [(2, 1), (6, 0), (0, 0)])
def test_a_batch_that_is_refused_as_corrupt_is_a_finding(error_code: int, findings: int) -> None:
    assert counted("wire-unreadable", [], refused(1, 1, error_code)) == findings


def test_a_corrupt_batch_names_its_client_and_partition() -> None:
    found = details("wire-unreadable", [], [received(1), *refused(1, 1, 2)])
    assert found == ["request 1 of app to broker 1: the batch for orders-0 is refused: CORRUPT_MESSAGE"]


def test_a_batch_that_a_rule_has_corrupted_is_none_of_its_client() -> None:
    flip = RuleFired(
        time_us=1, broker_id=1, rule="r", act="bit_flip", phase="before_parse", api="Produce", request_id=1
    )
    assert counted("wire-unreadable", [], [flip, *refused(1, 1, 2)]) == 0


@pytest.mark.parametrize(("unreadable", "findings"), [(True, 1), (False, 0)])
def test_a_connection_closed_for_its_bytes_is_a_finding(unreadable: bool, findings: int) -> None:
    closed = ConnectionClosed(time_us=5, broker_id=1, connection_id="c", reason="no API 99", unreadable=unreadable)
    assert counted("wire-unreadable", [], [received(1), closed]) == findings
    if unreadable:
        assert details("wire-unreadable", [], [received(1), closed]) == ["connection c of app to broker 1: no API 99"]
        assert details("wire-unreadable", [], [closed]) == ["connection c to broker 1: no API 99"]


def throttled(
    batches: list[SentBatch],
    events: list[Event],
    api: str = "Produce",
    reported: str = "ok",
    reported_us: int = 11_000,
    **config: str,
) -> int:
    """The findings where request 1 was throttled for 50 ms from 10 ms on, and its record acknowledged afterwards."""
    given: dict[str, Any] = {
        "run_id": "", "process": 0, "producer_id": 7, "topic": "orders", "partition": 0, "key": None, "size_bytes": 1,
        "offset": -1, "timestamp_ms": 0, "error_code": 0, "error": None,
    }  # fmt: skip
    history = [
        HistoryEvent(**given, index=0, type="invoke", time_us=1_000, value_id=5),
        HistoryEvent(**given, index=1, type="invoke", time_us=2_000, value_id=6),
        HistoryEvent(**given, index=0, type=reported, time_us=reported_us, value_id=5),
        HistoryEvent(**given, index=3, type="invoke", time_us=11_000, value_id=8),
        HistoryEvent(**given, index=2, type="invoke", time_us=12_000, value_id=7),
    ]
    response = ResponseSent(time_us=10_000, broker_id=1, request_id=1, api=api, connection_id="c", throttle_us=50_000)
    facts = WireFacts(
        batches=[batch(5), *batches], journal=[requested(5, 1, api=api), response, *events], history=history,
        operations=(), clients={}, configs={"app": config},
    )  # fmt: skip
    assert check_wire(replace(facts, history=()), ["wire-throttle"]).crashes == []
    assert check_wire(replace(facts, responds_before_throttling=False), ["wire-throttle"]).findings == []
    return len(check_wire(facts, ["wire-throttle"]).findings)


def requested(at_ms: float, request: int, connection: str = "c", api: str = "Produce") -> RequestReceived:
    return replace(received(at_ms, api, connection=connection), request_id=request)


def throttle_ended(early: int) -> ThrottleEnded:
    return ThrottleEnded(time_us=60_000, broker_id=1, connection_id="c", early=early)


@pytest.mark.parametrize(
    ("value", "early", "in_flight", "findings"),
    [
        (6, 1, "5", 0),  # may have been in flight when the response came
        (6, 1, "1", 1),
        (7, 1, "5", 1),  # was given to the client afterwards
        (8, 1, "5", 1),
        (7, 0, "5", 0),
        (7, 0, "1", 0),
    ],
)
def test_a_request_that_arrives_within_the_throttle_time_was_sent_too_early(
    value: int, early: int, in_flight: str, findings: int
) -> None:
    config = {"max.in.flight.requests.per.connection": in_flight}
    sent = batch(60, 2, values=(value,))
    assert throttled([sent], [throttle_ended(early), requested(60, 2)], **config) == findings


def test_more_requests_than_can_be_in_flight_were_sent_too_early() -> None:
    journal: list[Event] = [throttle_ended(6), *(requested(60, number) for number in range(2, 8))]
    assert throttled([batch(60, number, values=(6,)) for number in range(2, 8)], journal) == 2


@pytest.mark.parametrize(("at_ms", "findings"), [(59, 1), (59.1, 0)])
def test_a_proxy_receives_a_request_when_it_is_sent(at_ms: float, findings: int) -> None:
    journal: list[Event] = [
        requested(15, 2),
        ResponseSent(time_us=16_000, broker_id=1, request_id=2, api="Produce", connection_id="c"),
        requested(at_ms, 3),
    ]
    assert throttled([batch(15, 2, values=(6,)), batch(at_ms, 3, values=(7,))], journal) == findings


def test_other_requests_of_an_api_are_sent_one_after_another() -> None:
    assert throttled([], [throttle_ended(1), requested(60, 2, api="Metadata")], api="Metadata") == 1
    assert throttled([], [throttle_ended(1), requested(60, 2, api="Fetch")], api="Metadata") == 0
    of_broker_0 = replace(requested(60, 2, api="Metadata"), replica_id=0)
    assert throttled([], [throttle_ended(1), of_broker_0], api="Metadata") == 0


@pytest.mark.parametrize(("reported_us", "findings"), [(9_999, 0), (10_000, 1), (12_000, 1), (12_001, 0)])
def test_a_record_that_was_new_after_the_report_was_sent_after_the_response(reported_us: int, findings: int) -> None:
    sent = batch(60, 2, values=(7,))
    assert throttled([sent], [throttle_ended(1), requested(60, 2)], reported_us=reported_us) == findings


@pytest.mark.parametrize(("values", "findings"), [((6, 7), 1), ((7, 6), 1), ((6, 6), 0), ((), 0)])
def test_the_newest_record_of_a_request_shows_when_it_was_sent(values: tuple[int, ...], findings: int) -> None:
    sent = batch(60, 2, values=values)
    assert throttled([sent], [throttle_ended(1), requested(60, 2)]) == findings


def test_a_record_that_timed_out_shows_no_response() -> None:
    sent = batch(60, 2, values=(7,))
    assert throttled([sent], [throttle_ended(1), requested(60, 2)], reported="info") == 0


@pytest.mark.parametrize(("opened_ms", "findings"), [(9, 0), (10, 0), (20, 1)])
def test_a_request_on_a_connection_that_is_opened_within_the_throttle_time_does_not_wait(
    opened_ms: float, findings: int
) -> None:
    opened = ConnectionOpened(
        time_us=round(opened_ms * 1000), broker_id=1, connection_id="d", listener="PLAINTEXT", client_host="h"
    )
    assert throttled([], [opened, requested(21, 2, "d")]) == findings
