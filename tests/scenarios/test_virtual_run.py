from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.findings import Cause, FindingKind
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.verdict import Validity
from broker_scenarios.virtual_run import VirtualRun

if TYPE_CHECKING:
    from broker_scenarios.run_record import RunRecord

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"


@pytest.mark.parametrize("link_delay_ms", [0, 0.5, 20])
@pytest.mark.parametrize("name", ["leader-crash-acks-1", "leader-crash-acks-all", "leader-crash-acks-all-idempotent"])
def test_the_main_job_ends_as_expected_however_long_the_way_between_brokers(name: str, link_delay_ms: float) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml").with_records(2_000)
    run = judged(VirtualRun(scenario, 7, link_delay_ms=link_delay_ms).run(None), engine=None)
    assert run.judgement.misses == ()
    if name == "leader-crash-acks-1":
        assert run.verdict.counts.lost == run.verdict.counts.acked - run.verdict.counts.stored
        group = run.verdict.groups[0]
        assert "broker 1 rejoined behind leader 2 at leader epoch 1" in group.why
        assert group.permitted_because is not None
    else:
        assert run.verdict.counts.lost == 0


def run_of(folder: Path, text: str) -> RunRecord:
    path = folder / "case.yaml"
    path.write_text(text)
    return judged(VirtualRun(load_scenario(path), 1).run(None), engine=None)


LATE_RULES = """
title: The load ends before the rules do
cluster:
  brokers: 3
  config: {broker.session.timeout.ms: 1500, broker.heartbeat.interval.ms: 300}
topics: {orders: {partitions: 1, replication_factor: 3}}
load: {records: 20, producers: 1, rate_per_second: 1000}
rules:
  crash: {when: {acked_share: 1.0, delay_ms: 500}, act: {kill: leader of orders-0}}
  back: {when: {after: crash, delay_ms: 3000}, act: {restart: killed by crash}}
expect: {acked: 20, lost: 0}
"""


def test_a_run_waits_for_the_rules_that_are_still_due(tmp_path: Path) -> None:
    run = run_of(tmp_path, LATE_RULES)
    assert run.judgement.misses == ()
    assert [rule.partition(" fired ")[2] for rule in run.rules] == ["1 time", "1 time"]


def test_a_run_does_not_wait_beyond_its_deadline_or_for_an_optional_rule(tmp_path: Path) -> None:
    late = LATE_RULES + "deadline_s: 2\n"
    assert any("'back' never fired" in miss for miss in run_of(tmp_path, late).judgement.misses)
    optional = LATE_RULES.replace("delay_ms: 3000}", "delay_ms: 3000}, optional: true")
    run = run_of(tmp_path, optional)
    assert run.judgement.misses == ()
    assert [rule.partition(" fired ")[2] for rule in run.rules] == ["1 time", "0 times"]


def test_the_last_record_without_acknowledgement_arrives_before_the_logs_are_read(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        """
title: Every record without acknowledgement is stored although the broker is slow
cluster: {brokers: 1}
topics: {orders: {partitions: 2, replication_factor: 1}}
load: {records: 50, producers: 2, rate_per_second: 1000}
producer: {acks: 0, enable.idempotence: false}
rules: {slow: {select: {api: Produce}, phase: before_parse, act: {delay_ms: 400}}}
expect: {acked: 50, stored: 50, lost: 0}
""",
    )
    assert run.judgement.misses == ()


def test_one_request_in_flight_does_not_promise_the_order_of_a_request_that_was_given_up(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        """
title: A broker holds a request, the producer gives it up and sends on
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
load: {records: 40, producers: 1, rate_per_second: 10}
producer:
  acks: all
  enable.idempotence: false
  max.in.flight.requests.per.connection: 1
  retries: 0
  request.timeout.ms: 1000
  delivery.timeout.ms: 1100
rules:
  hold: {select: {api: Produce, nth: 5}, times: 1, phase: before_append, act: {delay_ms: 2500}}
expect: {reordered: ">= 1", verdict: valid}
""",
    )
    assert run.judgement.misses == ()
    reordered = [group for group in run.verdict.groups if group.kind is FindingKind.NONMONOTONIC_SEND]
    assert {group.cause for group in reordered} == {Cause.LATE_APPEND}


def power_loss(**topic_config: str) -> RunRecord:
    scenario = load_scenario(CATALOG / "power-loss-acks-all.yaml").with_records(3_000)
    [topic] = scenario.topics
    changed = replace(scenario, topics=(replace(topic, configs={**topic.configs, **topic_config}),))
    return judged(VirtualRun(changed, 7).run(None), engine=None)


def test_a_loss_of_power_everywhere_takes_acknowledged_records_and_the_verdict_names_it() -> None:
    run = power_loss()
    assert run.judgement.misses == ()
    assert run.verdict.counts.lost == run.verdict.counts.acked - run.verdict.counts.stored > 0
    assert "broker 3 lost its power and came back" in run.verdict.groups[0].why
    for group in run.verdict.groups:
        assert group.cause is Cause.POWER_LOST
        assert group.permitted_because is not None
        assert group.permitted_because.startswith("flush.messages=9223372036854775807: brokers never force a flush; ")


def test_power_takes_nothing_of_logs_that_flush_every_record() -> None:
    run = power_loss(**{"flush.messages": "1"})
    assert (run.verdict.counts.lost, run.verdict.validity) == (0, Validity.VALID)


@pytest.mark.parametrize("release", ["0.8.2", "0.10.2"])
def test_records_in_the_formats_before_0_11_are_judged(release: str, tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(f"""
title: Messages of another day
release: "{release}"
cluster: {{brokers: 1}}
topics: {{orders: {{partitions: 2, replication_factor: 1}}}}
load: {{records: 60, producers: 1, rate_per_second: 1000}}
producer: {{acks: all, enable.idempotence: false, compression.type: gzip}}
expect: {{verdict: valid, acked: 60}}
""")
    run = judged(VirtualRun(load_scenario(path), 1).run(None), engine=None)
    assert run.judgement.misses == ()
    assert run.verdict.counts.stored == 60


@pytest.mark.parametrize("controllers", [1, 3])
@pytest.mark.parametrize(("level", "error"), [(1, "PRODUCER_FENCED"), (2, "INVALID_TXN_STATE")])
def test_a_file_sets_the_version_of_transactions(level: int, error: str, controllers: int, tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(f"""
title: The coordinator aborts a transaction that takes too long
cluster:
  brokers: 1
  controllers: {controllers}
  features: {{transaction.version: {level}}}
  config:
    transaction.state.log.replication.factor: 1
    transaction.state.log.min.isr: 1
    transaction.abort.timed.out.transaction.cleanup.interval.ms: 500
topics: {{orders: {{partitions: 1, replication_factor: 1}}}}
clients:
  app:
    producer: {{transactional.id: t, linger.ms: 0, transaction.timeout.ms: 1000}}
    script:
      - init
      - begin
      - {{send: 1}}
      - commit
      - begin
      - {{send: 1}}
      - flush
      - {{wait: 4000}}
      - {{commit: {{or_abort: true}}}}
      - close
expect: {{transactions: {{ok: 1, {error}: 1}}}}
""")
    assert judged(VirtualRun(load_scenario(path), 1).run(None), engine=None).judgement.misses == ()


GROWING_TOPIC = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
    producer: {}
    script:
      - {wait: 2000}
      - {send: {topic: orders, partition: 1, wait: true}}
      - close
rules:
  grow: {act: {add_partitions: orders}}
  late: {select: {api: Produce, topic: orders, partition: 1}, act: {delay_ms: 1}}
expect: {acked: 1}
"""


def test_a_rule_fires_on_a_partition_that_another_rule_adds(tmp_path: Path) -> None:
    run = run_of(tmp_path, GROWING_TOPIC)
    assert run.judgement.misses == ()
    assert [rule.partition(" fired ")[2] for rule in run.rules] == ["1 time", "1 time"]
