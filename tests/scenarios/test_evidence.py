"""The judgement of hand-made evidence: what a record was lost to, what counts as a success, which checks are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import CallInCallback, Pool, SentBatch
from broker_scenarios.evidence import _compaction, _measure_misses, judged
from broker_scenarios.history import EventType
from broker_scenarios.measures.broker_metrics import MetricSample
from broker_scenarios.operations import Function
from broker_scenarios.promises import ClientPromises
from broker_sim.control.events import RequestReceived, ResponseSent, ThrottleEnded
from tests.scenarios.hand_made_run import Run


@pytest.mark.parametrize(
    ("key", "later", "valid"),
    [
        (b"k", {"key": b"k", "at": 7}, True),
        (b"k", {"key": b"k", "at": 6}, True),
        (b"k", {"key": b"k", "at": 5}, False),
        (b"k", {"key": b"other", "at": 7}, False),
        (None, {"key": None, "at": 7}, False),
        (b"k", {"key": b"k", "at": 7, "partition": 1}, False),  # each partition is compacted by itself
        (b"k", {"key": b"k", "at": 7, "topic": "other"}, False),
    ],
)
def test_a_later_record_of_the_key_in_the_partition_explains_a_loss(
    key: bytes | None, later: dict[str, Any], valid: bool
) -> None:
    def run(config: str, **lost: Any) -> str:
        made = Run(config=config).send(1, key=b"k", at=1).send(5, key=key, **lost)
        made.send(later["at"], **later)
        return made.judged().verdict.validity.value

    for policy in ("compact", "'compact,delete'"):
        assert run(f"cleanup.policy: {policy}") == ("valid" if valid else "broken")
    assert run("cleanup.policy: delete") == "broken"
    assert run("cleanup.policy: compact", topic="other") == "broken"


@pytest.mark.parametrize(
    ("f", "outcome", "mops", "validity"),
    [
        (Function.POLL, EventType.OK, [["poll", {"orders-0": [[0, 0]]}]], "valid"),
        (Function.POLL, EventType.OK, [["poll", {}]], "unknown"),
        (Function.POLL, EventType.OK, [], "unknown"),
        (Function.POLL, EventType.INFO, [["poll", {"orders-0": [[0, 0]]}]], "unknown"),
        (Function.POLL, None, [["poll"]], "unknown"),
        (Function.COMMIT, EventType.OK, [["commit", {"orders-0": 1}]], "unknown"),
        (Function.TXN, EventType.OK, [["poll", {"orders-0": [[0, 0]]}]], "valid"),
        (Function.TXN, EventType.FAIL, [["poll", {"orders-0": [[0, 0]]}]], "valid"),  # an abort that was wanted
        (Function.TXN, EventType.OK, [], "unknown"),
        (Function.TXN, None, [["poll", {"orders-0": [[0, 0]]}]], "unknown"),
    ],
)
def test_a_run_without_an_acknowledgement_has_tested_something_if_another_call_succeeded(
    f: Function, outcome: EventType | None, mops: list[Any], validity: str
) -> None:
    made = Run().send(outcome=EventType.INFO, at=0).call(f, outcome, *mops)
    assert made.judged().verdict.validity.value == validity


def test_one_success_among_other_calls_is_enough() -> None:
    made = Run().send(outcome=EventType.INFO, at=0).call(Function.POLL, EventType.OK, ["poll", {}])
    made.call(Function.POLL, EventType.OK, ["poll", {}], ["poll", {"orders-0": [[0, 0]]}])
    assert made.judged().verdict.validity.value == "valid"


def test_a_transaction_that_ended_with_an_error_is_no_success() -> None:
    made = Run().send(outcome=EventType.INFO, at=0)
    made.call(Function.TXN, EventType.OK, ["poll", {"orders-0": [[0, 0]]}], error=ValueError("no"))
    assert made.judged().verdict.validity.value == "unknown"


def test_the_ends_of_calls_are_compared_with_what_is_expected() -> None:
    expect = "outcome: {ok: 1}, transactions: {ok: 1}, calls: {REQUEST_TIMED_OUT: 0}"
    made = Run(expect).send(at=0).call(Function.TXN, EventType.FAIL, ["send", "orders-0", 9])
    made.operations.outcomes["ok"] = 2
    assert made.judged().judgement.misses == (
        "2 sends ended with ok, expected exactly 1 (there were 2 ok)",
        "0 transactions ended with ok, expected exactly 1 (there were 1 fail)",
    )
    assert Run(expect).send(at=0).judged(operations=None).judgement.misses == ()


def test_measures_need_the_history_in_memory_and_a_metric_that_brokers_have() -> None:
    expect = "measures: {m: {measure: highest_metric, metric: A, is: 3}, n: {measure: longest_ack_ms, is: 1}}"
    samples = [MetricSample(time_us=0, metric="A", broker=1, value=2.4)]
    misses = Run(expect).send(at=0).judged(metrics=samples).judgement.misses
    assert misses == ("m: highest_metric is 2.4, expected exactly 3", "n: longest_ack_ms is 0.005, expected exactly 1")
    assert Run(expect).send(at=0).judged().judgement.misses[0] == "m: no broker has had a metric A"
    samples = [MetricSample(time_us=0, metric="A", broker=1, value=2.6)]
    assert len(Run(expect).send(at=0).judged(metrics=samples).judgement.misses) == 1
    assert Run().send(at=0).judged().judgement.misses == ()


def test_calls_are_measured_where_there_are_some() -> None:
    expect = "measures: {m: {measure: longest_call_ms, is: 5}}"
    made = Run(expect).send(at=0)
    made.operations.invoke(1, "poll", []).invoked_us = -5_000 + 5
    assert made.judged().judgement.misses == ()
    assert len(Run(expect).send(at=0).judged(operations=None).judgement.misses) == 1


@pytest.mark.parametrize(("claims", "found"), [("claims: {liveness.deadline.ms: 1}", 1), ("", 0)])
def test_a_partition_is_live_as_claimed(claims: str, found: int) -> None:
    made = Run(claims=claims).send(at=0).send(0, partition=1, outcome=EventType.INFO)
    assert made.judged().verdict.found("liveness") == found


BATCH = SentBatch(
    at_us=5, client_id="app", connection_id="c", broker_id=1, request_id=1, topic="orders", partition=0,
    producer_id=-1, producer_epoch=-1, base_sequence=-1, records=1, checksum=1, acks=-1, values=(0,),
)  # fmt: skip
ON_THE_WIRE = "verdict: any, wire-idempotence: 0, res-pool: 0, res-callback: 0, wire-throttle: 0"


def test_the_checks_on_the_wire_have_the_facts_of_the_run() -> None:
    pools = [Pool(process=0, client_id="app", available_bytes=2, total_bytes=1)]
    callbacks = [CallInCallback(client_id="app", what="flush", begun_us=1)]
    verdict = Run(ON_THE_WIRE).send(at=0).judged(wire=[BATCH], pools=pools, callbacks=callbacks).verdict
    assert [verdict.found(name) for name in ("wire-idempotence", "res-pool", "res-callback")] == [1, 1, 1]
    off = Run(ON_THE_WIRE, client="enable.idempotence: false").send(at=0).judged(wire=[BATCH]).verdict
    assert off.found("wire-idempotence") == 0
    unnamed = Run("verdict: any").send(at=0).judged(wire=[BATCH], pools=pools).verdict
    assert unnamed.found("res-pool") == 0
    # A process that never got a client.id, and one of a consumer alone.
    assert (
        Run(ON_THE_WIRE).send(at=0).judged(wire=[BATCH], client_ids={1: "app"}).verdict.found("wire-idempotence") == 1
    )


@pytest.mark.parametrize("missing", [{"wire": None}, {"wire": [], "operations": None}])
def test_without_the_facts_no_check_on_the_wire_is_made(missing: dict[str, Any]) -> None:
    run = judged(Run(ON_THE_WIRE).send(at=0).evidence(**missing), engine=None)
    assert run.verdict.reasons == ["the clients ran in other processes: no check on the wire was made"]


@pytest.mark.parametrize(("release", "found"), [("4.3.1", 1), ("1.1", 0)])
def test_clients_of_brokers_that_throttle_before_the_response_cannot_know_it(release: str, found: int) -> None:
    def received(at_us: int, number: int) -> RequestReceived:
        return RequestReceived(
            time_us=at_us, broker_id=1, api="Metadata", api_version=3, request_id=number, connection_id="c",
            client_id="app",
        )  # fmt: skip

    response = ResponseSent(
        time_us=10, broker_id=1, api="Metadata", request_id=1, connection_id="c", throttle_us=50_000
    )
    ended = ThrottleEnded(time_us=50_010, broker_id=1, connection_id="c", early=1)
    made = Run(ON_THE_WIRE, release=release).send(at=0)
    verdict = made.judged(received(1, 1), response, ended, received(50_020, 2), wire=[]).verdict
    assert verdict.found("wire-throttle") == found


def test_a_partition_that_serves_too_late_is_a_miss() -> None:
    made = Run("live_within_ms: 0.003").send(at=0).send(1, at=1)
    assert made.judged().judgement.misses == (
        "orders-0 acknowledged nothing within 0.003 ms after the last fault (live_within_ms)",
    )
    assert Run("live_within_ms: 0.005").send(at=0).judged().judgement.misses == ()


def test_a_history_in_a_file_has_no_measures_and_no_compaction() -> None:
    expect = "measures: {m: {measure: requests, is: 1}}"
    for given, misses in ((expect, ["measures need the history of the run in memory"]), ("verdict: any", [])):
        evidence = Run(given, config="cleanup.policy: compact").evidence(history=Path("absent.parquet"))
        assert list(_measure_misses(evidence)) == misses
        assert _compaction(evidence) is None
    assert _compaction(Run().evidence()) is None
    assert _compaction(Run(config="cleanup.policy: compact").evidence()) is not None


def test_the_lag_of_reads_is_that_of_the_polls() -> None:
    expect = "measures: {m: {measure: longest_read_lag_ms, client: reader, is: '>= 1'}}"

    def misses(**changes: Any) -> tuple[str, ...]:
        made = Run(expect).send(at=0)
        for f, mop in ((Function.ASSIGN, ["assign", ["orders-0"]]), (Function.POLL, ["poll", {}])):
            made.call(f, EventType.OK, mop)
            made.operations.operations[-1].invoked_us = made.operations.operations[-1].completed_us = 2_000_000
        return made.judged(**changes).judgement.misses

    assert misses() == ()
    assert misses(operations=None) == ("m: longest_read_lag_ms is 0, expected at least 1",)


def test_only_producers_have_promises_of_their_own() -> None:
    promises = Run().send(at=0).judged().verdict.promises
    assert isinstance(promises, ClientPromises)
    assert {process: set(topics) for process, topics in promises.by_process.items()} == {0: {"orders", "other"}}
