"""Each measure of hand-made facts: what it selects, its boundaries, and where there is nothing to measure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.expectations import CountRange, Expectation, ExpectedMeasure
from broker_scenarios.history import EventType, HistoryRecorder, LogRecord
from broker_scenarios.measures import MEASURES
from broker_scenarios.measures.broker_metrics import MetricSample, MetricSamples
from broker_scenarios.measures.liveness import not_live
from broker_scenarios.measures.measure import RunFacts, most_in_a_second
from broker_scenarios.playing.run_history import Operation
from broker_scenarios.truth import Truth
from broker_sim.control.events import (
    BatchAppended,
    BrokerStarted,
    ConnectionOpened,
    GroupRequestRefused,
    ProduceCompleted,
    RequestReceived,
    ResponseSent,
    RuleFired,
    RuleReleased,
)

if TYPE_CHECKING:
    from broker_sim.control.events import Event

MS = 1_000


class Sends:
    """A history, written send by send; the times are milliseconds."""

    def __init__(self) -> None:
        self._recorder = HistoryRecorder("")
        self._sent = 0

    def send(
        self,
        at_ms: float,
        end_ms: float | None = None,
        outcome: EventType = EventType.OK,
        *,
        process: int = 0,
        topic: str = "orders",
        partition: int = 0,
        size: int = 100,
    ) -> Sends:
        """One send; without `end_ms` it is open."""
        given: Any = {
            "process": process, "producer_id": 1, "index": self._sent, "topic": topic, "value_id": self._sent,
            "size_bytes": size,
        }  # fmt: skip
        self._sent += 1
        self._recorder.record(EventType.INVOKE, time_us=round(at_ms * MS), **given)
        if end_ms is not None:
            error_code = 0 if outcome is EventType.OK else 7
            self._recorder.record(
                outcome, time_us=round(end_ms * MS), partition=partition, error_code=error_code, **given
            )
        return self

    def facts(self, *journal: Event, **given: Any) -> RunFacts:
        """The facts of a run with these sends, in the order of their times."""
        truth = Truth(stored=given.pop("stored", []), truncated=[], journal=journal)
        history = sorted(self._recorder.drain(), key=lambda event: event.time_us)
        return RunFacts(journal=journal, history=history, truth=truth, clients={0: "app", 1: "other"}, **given)


def value(measure: str, facts: RunFacts, **select: Any) -> float:
    return MEASURES[measure].of(facts, select)


def requested(
    at_ms: float, request: int = 1, *, broker: int = 1, api: str = "Produce", client: str | None = "app", **more: Any
) -> RequestReceived:
    return RequestReceived(
        time_us=round(at_ms * MS), broker_id=broker, api=api, api_version=3, request_id=request,
        client_id=client, **{"connection_id": "c", **more},
    )  # fmt: skip


def responded(at_ms: float, request: int = 1, *, broker: int = 1, size: int = 0) -> ResponseSent:
    return ResponseSent(
        time_us=round(at_ms * MS), broker_id=broker, api="Produce", request_id=request, connection_id="c", size=size
    )


def completed(at_ms: float, error_code: int, request: int = 1, **more: Any) -> ProduceCompleted:
    place: dict[str, Any] = {"broker_id": 1, "topic": "orders", "partition": 0, **more}
    return ProduceCompleted(
        time_us=round(at_ms * MS), error_code=error_code, base_offset=0, required_offset=0, high_watermark=0,
        leader_epoch=0, isr=(1,), acks=1, request_id=request, **place,
    )  # fmt: skip


# Requests

REQUESTS = (
    requested(90, 1),
    requested(100, 2),
    requested(130, 1, broker=2),
    requested(1_090, 3, api="Metadata", client="apple"),
    requested(1_100, 4, client=None),
    requested(1_101, 5, replica_id=0),
    requested(1_101, 6, replica_id=2),
)


@pytest.mark.parametrize(
    ("select", "count"),
    [
        ({}, 5),
        ({"api": "Produce"}, 4),
        ({"broker": 2}, 1),
        ({"client": "app"}, 3),
        ({"client": "app*"}, 4),
        ({"client": "other"}, 0),
        ({"from_ms": 0}, 4),
        ({"from_ms": 30}, 3),
        ({"from_ms": 30.001}, 2),
        ({"from_ms": 30, "api": "Produce", "broker": 1}, 1),
    ],
)
def test_requests_of_clients_are_selected(select: dict[str, Any], count: int) -> None:
    assert value("requests", Sends().send(100, 101).facts(*REQUESTS), **select) == count


def test_the_times_of_requests_are_compared() -> None:
    facts = Sends().send(100, 101).facts(*REQUESTS)
    assert value("requests_in_a_second", facts) == 3
    assert value("requests_in_a_second", facts, broker=1) == 2
    assert value("shortest_gap_ms", facts, broker=1) == 10
    assert value("shortest_gap_ms", facts, broker=2) == 0


def test_the_most_moments_in_a_second_are_of_any_second() -> None:
    assert most_in_a_second([0, 600_000, 1_100_000, 1_200_000, 1_599_999, 5_000_000]) == 4
    assert most_in_a_second([0, 999_999]) == 2
    assert most_in_a_second([0, 1_000_000]) == 1
    assert most_in_a_second([]) == 0


TWO_BROKERS = (
    requested(1, 1, size=10),
    requested(2, 1, broker=2, size=20, client="other"),
    responded(3, 1, size=300),
    responded(4, 1, broker=2, size=400),
    requested(5, 2, api="Fetch", size=5),
    responded(6, 2, size=900),
    requested(6, 3, size=25),
)


@pytest.mark.parametrize(
    ("select", "largest", "held"),
    [
        ({}, 900, 30),
        ({"client": "app"}, 900, 25),
        ({"broker": 2}, 400, 20),
        ({"api": "Produce", "broker": 1}, 300, 25),
        ({"api": "Metadata"}, 0, 0),
    ],
)
def test_a_response_belongs_to_the_request_of_its_own_broker(select: dict[str, Any], largest: int, held: int) -> None:
    facts = Sends().facts(*TWO_BROKERS)
    assert value("largest_response_bytes", facts, **select) == largest
    assert value("held_request_bytes", facts, **select) == held


@pytest.mark.parametrize(
    ("select", "count"),
    [({}, 3), ({"client": "app"}, 2), ({"client": "other"}, 1), ({"broker": 2}, 1), ({"broker": 3}, 0)],
)
def test_a_refusal_belongs_to_the_request_of_its_own_broker(select: dict[str, Any], count: int) -> None:
    journal = [
        requested(1, 1),
        requested(2, 1, broker=2, client="other"),
        requested(3, 2, api="Fetch"),
        completed(4, 6),
        completed(4, 19, partition=1),
        completed(4, 0, partition=2),
        completed(5, 6, broker_id=2),
        completed(6, 6, 2),
    ]
    assert value("refused_batches", Sends().facts(*journal), **select) == count


def opened(at_ms: float, connection: str, broker: int = 1, host: str = "h") -> ConnectionOpened:
    return ConnectionOpened(
        time_us=round(at_ms * MS), broker_id=broker, connection_id=connection, listener="PLAINTEXT", client_host=host
    )


@pytest.mark.parametrize(
    ("select", "count", "rate"),
    [
        ({}, 4, 3),
        ({"broker": 1}, 3, 2),
        ({"client": "app"}, 1, 1),
        ({"client": "o*"}, 1, 1),
        ({"from_ms": 0}, 3, 2),
        ({"from_ms": 50}, 3, 2),
        ({"from_ms": 50.001}, 2, 2),
    ],
)
def test_connections_are_selected_by_broker_time_and_their_requests(
    select: dict[str, Any], count: int, rate: int
) -> None:
    journal = [
        opened(90, "a"),
        opened(150, "b"),
        opened(1_089, "c", broker=2),
        opened(1_151, "d"),
        requested(91, connection_id="a"),
        requested(151, connection_id="b", client="other"),
    ]
    facts = Sends().send(100, 101).facts(*journal)
    assert value("connections", facts, **select) == count
    assert value("connections_in_a_second", facts, **select) == rate


def test_a_connection_that_ends_before_its_first_request_is_that_of_the_one_client_on_its_host() -> None:
    journal = [
        opened(1, "a", host="h1"),
        opened(2, "b", host="h1"),
        opened(3, "c", host="h2"),
        opened(4, "d", host="h2"),
        opened(5, "e", host="h2"),
        opened(6, "f", host="h3"),
        requested(7, connection_id="a", client="app"),
        requested(7, connection_id="c", client="app"),
        requested(7, connection_id="d", client="other"),
    ]
    facts = Sends().send(100, 101).facts(*journal)
    assert value("connections", facts, client="app") == 3, "a, b and c: two clients are on the host of e"
    assert value("connections", facts, client="*") == 5, "a to e: no request came from the host of f"


def test_refusals_of_members_are_counted_by_api_and_error() -> None:
    def refused(api: str, error: str) -> GroupRequestRefused:
        return GroupRequestRefused(time_us=1, broker_id=1, group_id="g", member_id="m", api=api, error=error)

    journal = [refused("Heartbeat", "UNKNOWN_MEMBER_ID"), refused("OffsetCommit", "UNKNOWN_MEMBER_ID")]
    facts = Sends().facts(*journal, refused("Heartbeat", "ILLEGAL_GENERATION"), requested(1))
    selects: list[dict[str, str]] = [{}, {"api": "Heartbeat"}, {"error": "ILLEGAL_GENERATION"}]
    assert [value("refused_members", facts, **select) for select in selects] == [3, 2, 1]


# Sends


def sends() -> Sends:
    """Three acknowledged sends to two partitions, one of another client that fails, and one that is open."""
    made = Sends().send(0, 5).send(10, 40, partition=1).send(20, 25, process=1, topic="other")
    return made.send(30, 130, EventType.FAIL, process=1).send(50)


@pytest.mark.parametrize(
    ("measure", "select", "wanted"),
    [
        ("longest_ack_ms", {}, 30),
        ("longest_ack_ms", {"partition": 0}, 5),
        ("longest_ack_ms", {"from_ms": 10}, 30),
        ("longest_ack_ms", {"from_ms": 10.001}, 5),
        ("longest_ack_ms", {"client": "o*"}, 5),
        ("longest_ack_ms", {"topic": "third"}, 0),
        ("longest_send_ms", {}, 150),  # to the end of the run
        ("longest_send_ms", {"client": "app", "partition": 1}, 30),
        ("longest_send_ms", {"client": "other"}, 100),
        ("longest_send_ms", {"partition": -1}, 150),
        ("longest_send_ms", {"topic": "third"}, 0),
        ("first_ack_ms", {}, 5),
        ("first_ack_ms", {"topic": "other"}, 25),
        ("first_ack_ms", {"topic": "third"}, 200),
        ("longest_pause_ms", {"topic": "orders"}, 35),
        ("longest_pause_ms", {"partition": -1}, 0),
        ("longest_pause_ms", {"topic": "other"}, 5),
        ("longest_pause_ms", {"topic": "third"}, 0),
        ("open_bytes", {}, 200),
        ("open_bytes", {"client": "other"}, 100),
        ("open_bytes", {"partition": 1}, 100),
        ("open_bytes", {"topic": "third"}, 0),
    ],
)
def test_sends_are_measured_from_their_invocation(measure: str, select: dict[str, Any], wanted: float) -> None:
    assert value(measure, sends().facts(requested(200)), **select) == wanted


def test_what_begins_when_another_ends_takes_its_place() -> None:
    assert value("open_bytes", Sends().send(0, 10, size=3).send(10, 20, size=4).facts()) == 4
    assert value("open_bytes", Sends().send(0, 10, size=3).send(9.999, 20, size=4).facts()) == 7


def test_a_run_may_begin_at_the_time_zero() -> None:
    facts = Sends().send(0, 0).send(0, 0).facts(requested(9))
    assert (value("longest_send_ms", facts), value("open_bytes", facts)) == (0, 0)
    call = Operation(process=0, f="flush", invoked_us=0, mops=[], completed_us=0)
    assert value("longest_call_ms", Sends().facts(requested(9), operations=[call])) == 0


def test_times_of_the_run_count_from_its_begin_and_a_pause_ends_with_the_last_send() -> None:
    facts = Sends().send(100, 105).send(110, 111).send(150).facts(requested(900))
    assert value("first_ack_ms", facts) == 5
    assert value("longest_pause_ms", facts) == 39


def test_a_send_has_the_first_of_its_ends() -> None:
    made = Sends().send(1, 2)
    facts = made.facts()
    assert [(each.is_ok, each.error_code, each.completed_us) for each in facts.sends] == [(True, 0, 2_000)]
    [failed] = Sends().send(1, 2, EventType.INFO).facts().sends
    assert (failed.is_ok, failed.error_code, failed.partition, failed.client) == (False, 7, 0, "app")
    [still_open] = Sends().send(1, process=5).facts().sends
    assert (still_open.is_ok, still_open.error_code, still_open.completed_us) == (False, 0, -1)
    assert (still_open.partition, still_open.client) == (-1, "")


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ({}, 20),
        ({"topic": "orders"}, 40),
        ({"topic": "orders", "partition": 1}, 0),
        ({"partition": 0}, 20),
        ({"topic": "other"}, 90),  # to the end of the run
        ({"topic": "third"}, 0),
    ],
)
def test_the_recovery_begins_with_the_first_refusal_by_a_former_leader(select: dict[str, Any], wanted: float) -> None:
    journal = [
        completed(1, 0),
        completed(5, 7),
        completed(10, 6),
        completed(20, 6),
        completed(30, 0, partition=0, topic="third"),
        completed(45, 7),
        completed(50, 0),
        completed(55, 0, partition=1),
        completed(60, 0),
        completed(10, 6, topic="other", partition=2),
        requested(100),
    ]
    assert value("recovery_ms", Sends().facts(*journal), **select) == wanted


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ({}, 195),
        ({"call": "flush"}, 10),
        ({"call": "commit"}, 195),
        ({"call": "close"}, 0),
        ({"client": "other"}, 7),
        ({"client": "o*", "call": "commit"}, 0),
    ],
)
def test_calls_are_selected_by_name_and_client(select: dict[str, Any], wanted: float) -> None:
    calls = [
        Operation(process=process, f=f, invoked_us=begin * MS, mops=[], completed_us=end * MS if end >= 0 else -1)
        for process, f, begin, end in ((0, "flush", 0, 10), (0, "commit", 5, -1), (1, "flush", 1, 8))
    ]
    assert value("longest_call_ms", Sends().facts(requested(200), operations=calls), **select) == wanted


@pytest.mark.parametrize(
    ("select", "lag_ms"),
    [({}, 900), ({"client": "f*"}, 20), ({"topic": "a-b"}, 300), ({"topic": "orders", "partition": 1}, 0)],
)
def test_the_lag_of_reads_is_selected_by_client_and_partition(select: dict[str, Any], lag_ms: float) -> None:
    lags = [("fast", "orders-0", 20_000), ("late", "orders-0", 900_000), ("late", "a-b-0", 300_000)]
    assert value("longest_read_lag_ms", Sends().facts(read_lags=lambda: lags), **select) == lag_ms


# Logs and brokers


def appended(*, producer_id: int, producer_epoch: int, topic: str = "orders", partition: int = 0) -> BatchAppended:
    return BatchAppended(
        time_us=0, broker_id=1, topic=topic, partition=partition, base_offset=0, last_offset=0, leader_epoch=0,
        records=1, size=70, producer_id=producer_id, producer_epoch=producer_epoch,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("select", "count"),
    [({}, 3), ({"topic": "orders"}, 2), ({"partition": 1}, 1), ({"topic": "orders", "partition": 1}, 0)],
)
def test_an_old_epoch_is_older_than_another_of_its_producer_in_the_partition(
    select: dict[str, Any], count: int
) -> None:
    journal = [
        appended(producer_id=7, producer_epoch=2),
        appended(producer_id=7, producer_epoch=1),
        appended(producer_id=7, producer_epoch=2),
        appended(producer_id=8, producer_epoch=0),
        appended(producer_id=0, producer_epoch=1),
        appended(producer_id=0, producer_epoch=0),
        appended(producer_id=-1, producer_epoch=0),
        appended(producer_id=-1, producer_epoch=-1),
        appended(producer_id=7, producer_epoch=0, topic="a", partition=1),
        appended(producer_id=8, producer_epoch=1, topic="a", partition=1),
        appended(producer_id=8, producer_epoch=0, topic="a", partition=1),
    ]
    assert value("old_epoch_appends", Sends().facts(*journal), **select) == count


@pytest.mark.parametrize(
    ("select", "percent"),
    [
        ({}, 100),
        ({"topic": "orders", "partition": 0}, 75),
        ({"topic": "a", "partition": 0}, 100),
        ({"partition": 1}, 20),
        ({"topic": "third"}, 0),
    ],
)
def test_the_share_is_the_part_of_the_records_of_the_selected_topic(select: dict[str, Any], percent: float) -> None:
    places = [("orders", 0)] * 3 + [("orders", 1), ("a", 0)]
    stored = [LogRecord(topic, partition, 0, 1) for topic, partition in places]
    assert value("share_percent", Sends().facts(stored=stored), **select) == percent


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ({}, 7),
        ({"broker": 1}, 5),
        ({"broker": 1, "from_ms": 1_500}, 4),
        ({"broker": 1, "from_ms": 2_000}, 4),
        ({"broker": 1, "from_ms": 2_000.001}, 0),
        ({"broker": 3}, 0),
    ],
)
def test_a_metric_of_brokers_has_its_highest_value(select: dict[str, Any], wanted: float) -> None:
    samples = [
        MetricSample(time_us=(100 + ms) * MS, metric=metric, broker=broker, value=read)
        for ms, metric, broker, read in ((0, "a", 1, 5), (1_000, "a", 2, 7), (2_000, "a", 1, 4), (2_000, "b", 1, 9))
    ]
    assert value("highest_metric", Sends().send(100, 101).facts(metrics=samples), metric="a", **select) == wanted


def test_only_the_metrics_that_a_measure_names_are_read_each_once() -> None:
    wanted = [("requests", {}), ("highest_metric", {"metric": "a"}), ("highest_metric", {"metric": "a", "broker": 1})]
    measures = tuple(
        ExpectedMeasure(name=str(number), measure=measure, select=select, wanted=CountRange())
        for number, (measure, select) in enumerate(wanted)
    )
    samples = MetricSamples(Expectation(measures=measures), lambda name: [(1, len(name)), (2, 9.5)], lambda: 77)
    samples.take()
    assert [(each.time_us, each.metric, each.broker, each.value) for each in samples.taken] == [
        (77, "a", 1, 1),
        (77, "a", 2, 9.5),
    ]


# Liveness


def fired(at_ms: float) -> Event:
    return RuleFired(time_us=round(at_ms * MS), broker_id=1, rule="r", act="hold", phase="before_parse", api="Produce")


@pytest.mark.parametrize(
    ("fault", "within_ms"), [(RuleReleased(time_us=100 * MS, broker_id=1, rule="r"), 50), (fired(90), 60)]
)
@pytest.mark.parametrize(("end_ms", "late"), [(99.999, []), (100, []), (150, []), (150.001, [("orders", 0)])])
def test_a_partition_serves_again_within_the_time_after_the_last_fault(
    fault: Event, within_ms: float, end_ms: float, late: list[tuple[str, int]]
) -> None:
    facts = Sends().send(0, 1).send(50, end_ms).send(60, 200, partition=1).facts(requested(1), fault)
    assert list(not_live(facts, within_ms)) == [*late, ("orders", 1)]


def test_a_fault_after_the_history_is_none() -> None:
    assert list(not_live(Sends().send(50, 200).facts(fired(200.001)), within_ms=150)) == []
    assert list(not_live(Sends().send(50, 200).facts(fired(200.001)), within_ms=149)) == [("orders", 0)]


def test_a_fault_at_the_end_of_the_history_is_one() -> None:
    started = BrokerStarted(time_us=100 * MS, broker_id=1)
    assert list(not_live(Sends().send(0, 1).send(50, 100).facts(started), within_ms=0)) == []
    failed = Sends().send(0, 1).send(50, 100, EventType.FAIL)
    assert list(not_live(failed.facts(started), within_ms=0)) == [("orders", 0)]


def test_what_failed_before_the_fault_waits_no_more() -> None:
    facts = Sends().send(0, 0, EventType.FAIL, partition=1).send(50, 100).facts(fired(80))
    assert list(not_live(facts, within_ms=20)) == []


def test_a_run_without_faults_is_judged_from_its_begin() -> None:
    made = Sends().send(10, 20).send(11, partition=1)
    assert list(not_live(made.facts(), within_ms=9)) == [("orders", 0), ("orders", -1)]
    assert list(not_live(Sends().send(10, 20).facts(), within_ms=10)) == []
    assert list(not_live(Sends().send(0, 0).facts(), within_ms=0)) == []


def test_an_acknowledgement_on_its_way_when_a_rule_fired_proves_nothing() -> None:
    journal = [fired(100)]
    assert list(not_live(Sends().send(50, 109.999).facts(*journal), within_ms=50)) == []
    assert list(not_live(Sends().send(50, 109.999).send(60, 155).facts(*journal), within_ms=50)) == [("orders", 0)]


def test_sends_without_a_partition_wait_for_any_of_their_topic() -> None:
    def live(*sends: tuple[int, int, bool]) -> list[tuple[str, int]]:
        made = [
            SimpleNamespace(topic="orders", partition=partition, completed_us=at_us, is_ok=ok)
            for partition, at_us, ok in sends
        ]
        facts: Any = SimpleNamespace(journal=(), history_end_us=9_000, begin_us=0, sends=made)
        return list(not_live(facts, within_ms=1))

    assert live((-1, 500, False)) == [("orders", -1)]
    assert live((-1, 500, False), (2, 900, True)) == []
    assert live((-1, 500, False), (2, 2_000, True)) == [("orders", -1), ("orders", 2)]
