from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.language.yaml_source import ScenarioFileError
from broker_scenarios.measures import MEASURES
from broker_scenarios.measures.measure import RunFacts
from tests.scenarios.playing.runs import play, scenario_of

if TYPE_CHECKING:
    from pathlib import Path

RUN = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  app:
    producer: {enable.idempotence: false, linger.ms: 0, request.timeout.ms: 1000}
    script:
      - {send: {partition: 0, count: 3, every_ms: 1, wait: true, size_bytes: 100}}
      - {wait: 1}
      - {send: {partition: 1, size_bytes: 500}}
      - flush
      - close
rules:
  slow: {select: {api: Produce, nth: 2}, phase: before_response, act: {delay_ms: 300}}
expect: EXPECT
"""


def facts_of(folder: Path) -> RunFacts:
    played = play(folder, RUN.replace("EXPECT", "{}"))
    evidence = played.evidence
    assert isinstance(evidence.history, list)
    return RunFacts(
        journal=evidence.truth.journal,
        history=evidence.history,
        truth=evidence.truth,
        clients=evidence.client_ids,
        operations=played.history.operations,
    )


@pytest.mark.parametrize(
    ("measure", "select", "low", "high"),
    [
        ("requests", {"api": "Produce"}, 4, 4),
        ("requests", {"api": "Produce", "client": "other"}, 0, 0),
        ("requests_in_a_second", {"api": "Produce", "client": "a*"}, 4, 4),
        ("shortest_gap_ms", {"api": "Produce"}, 0.5, 5),
        ("largest_response_bytes", {"api": "Metadata"}, 50, 1_000),
        ("connections", {"client": "app"}, 1, 2),
        ("connections_in_a_second", {}, 1, 3),
        ("longest_ack_ms", {"partition": 0}, 300, 400),
        ("longest_ack_ms", {"partition": 1}, 0.1, 20),
        ("longest_send_ms", {"client": "app"}, 300, 400),
        ("longest_pause_ms", {}, 300, 400),
        ("recovery_ms", {}, 0, 0),
        ("share_percent", {"topic": "orders", "partition": 0}, 75, 75),
        ("open_bytes", {}, 500, 500),
        ("held_request_bytes", {"api": "Produce"}, 200, 700),
        ("refused_batches", {}, 0, 0),
        ("first_ack_ms", {}, 0, 200),
        ("longest_call_ms", {"call": "flush", "client": "app"}, 0.1, 20),
        ("longest_call_ms", {"call": "flush", "client": "other"}, 0, 0),
    ],
)
def test_a_measure_is_a_number_of_the_run(
    tmp_path: Path, measure: str, select: dict[str, Any], low: float, high: float
) -> None:
    assert low <= MEASURES[measure].of(facts_of(tmp_path), select) <= high


def test_a_measure_that_is_not_as_expected_is_a_miss_with_its_value(tmp_path: Path) -> None:
    expect = "{measures: {the responses: {measure: requests, api: Produce, is: '<= 2'}}}"
    assert play(tmp_path, RUN.replace("EXPECT", expect)).run.judgement.misses == (
        "the responses: requests is 4, expected 0 to 2",
    )


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("{measure: request, is: 1}", "did you mean 'requests'?"),
        ("{measure: requests}", "is: missing"),
        ("{measure: highest_metric, is: 1}", "metric: missing"),
        ("{measure: refused_members, error: FENCED, is: 1}", "error: expected one of"),
        ("{measure: share_percent, api: Produce, is: 1}", "api: unknown key"),
        ("{measure: requests, is: many}", "is: expected a number"),
    ],
)
def test_a_wrong_measure_is_named(tmp_path: Path, measure: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError, match=r"expect\.measures\.m\.") as raised:
        scenario_of(tmp_path, RUN.replace("EXPECT", f"{{measures: {{m: {measure}}}}}"))
    assert problem in str(raised.value)


def test_a_metric_is_read_while_the_clients_play(tmp_path: Path) -> None:
    expect = "{measures: {ids: {measure: highest_metric, metric: ProducerIdCount, broker: 1, is: 2}}}"
    text = RUN.replace("EXPECT", expect).replace("enable.idempotence: false", "enable.idempotence: true")
    played = play(tmp_path, text)
    assert played.run.judgement.misses == ()
    assert {sample.value for sample in played.evidence.metrics} == {0, 1, 2}


LIVE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
    producer: {enable.idempotence: false, linger.ms: 0, retry.backoff.ms: RETRY, retry.backoff.max.ms: RETRY}
    script: [{send: {wait: true}}, {send: {wait: true}}, close]
rules:
  refuse: {select: {api: Produce, nth: 2}, phase: before_append, act: {error: NOT_ENOUGH_REPLICAS}}
expect: {live_within_ms: 1000}
"""


def test_a_partition_must_serve_again_in_time(tmp_path: Path) -> None:
    assert play(tmp_path, LIVE.replace("RETRY", "100")).run.judgement.misses == ()
    assert play(tmp_path, LIVE.replace("RETRY", "3000")).run.judgement.misses == (
        "orders-0 acknowledged nothing within 1000 ms after the last fault (live_within_ms)",
    )


def test_connections_that_are_accepted_and_closed_are_connections(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {linger.ms: 0}, defects: [no-reconnect-backoff], script: [{send: {wait: true}}, close]}}
rules: {closes: {act: {accept_then_close: 1}, until: {delay_ms: 200}}}
expect: {measures: {storm: {measure: connections_in_a_second, broker: 1, is: ">= 20"}}}
""",
    )
    assert played.run.judgement.misses == ()


def test_an_acknowledgement_that_was_on_its_way_when_a_fault_began_proves_no_recovery(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        """
title: t
cluster: {brokers: 3}
topics: {orders: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}}
clients: {app: {producer: {linger.ms: 0}, load: {records: 100, rate_per_second: 100}}}
rules: {crash: {when: {acked_records: 50}, act: {pause: leader of orders-0}}}
expect: {live_within_ms: 2000}
""",
    )
    # The session of the paused broker lasts for nine seconds.
    assert played.run.judgement.misses == (
        "orders-0 acknowledged nothing within 2000 ms after the last fault (live_within_ms)",
    )


def test_a_metric_that_no_broker_has_is_named(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {linger.ms: 0}, script: [{send: {wait: true}}, close]}}
expect: {measures: {m: {measure: highest_metric, metric: ProducerIdCout, is: 0}}}
""",
    )
    assert played.run.judgement.misses == ("m: no broker has had a metric ProducerIdCout",)
