from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import Scenario, load_scenario, read_document
from broker_scenarios.shrinking.concrete import concrete_document
from broker_scenarios.virtual_run import run_virtually

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.run_record import RunRecord

SEED = 3
TEXT = """
title: what a seed draws
cluster: {brokers: 3}
topics: {orders: {partitions: 2, replication_factor: 3}}
load: {records: {uniform: [100, 300]}, producers: 2, rate_per_second: 500}
producer: {linger.ms: {one_of: [0, 1, 5]}}
rules:
  crash: {act: {kill: any}, when: {delay_ms: [10, 400]}, until: {delay_ms: [500, 1500]}}
  lossy: {act: disconnect, phase: before_response, select: {api: Produce, share: 0.2}, optional: true}
  lag: {act: {lag_metadata: {broker: any, ms: 300}}, when: {after: crash}}
  slow: {act: {delay_ms: [1, 9]}, phase: before_response, select: {api: Produce}, times: 2}
expect: {verdict: valid}
"""


def judged_run(scenario: Scenario) -> RunRecord:
    return judged(run_virtually(scenario, SEED), engine=None)


def test_the_written_draws_make_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "drawn.yaml"
    path.write_text(TEXT)
    scenario = load_scenario(path)
    record = judged_run(scenario)
    document = concrete_document(scenario.drawn(SEED), SEED, record.decisions)
    rules = document["rules"]
    assert document["seed"] == SEED
    assert 100 <= document["load"]["records"] <= 300
    assert document["producer"]["linger.ms"] in {0, 1, 5}
    assert rules["crash"]["act"]["kill"] in {1, 2, 3}
    assert rules["lag"]["act"]["lag_metadata"]["broker"] in {1, 2, 3}
    assert 10 <= rules["crash"]["when"]["delay_ms"] <= 400
    assert "share" not in rules["lossy"]["select"]
    assert len(rules["lossy"]["select"]["nth"]) > 3
    # Drawn anew each time that it fires: what the seed draws cannot be written as one number.
    assert rules["slow"]["act"] == {"delay_ms": [1, 9]}

    again = judged_run(read_document(document, path, "drawn"))
    assert again.decisions == {"slow": record.decisions["slow"]}
    assert again.facts["digest"] == record.facts["digest"]


def test_the_records_of_the_command_line_are_written(tmp_path: Path) -> None:
    path = tmp_path / "drawn.yaml"
    path.write_text(TEXT)
    scenario = load_scenario(path).with_records(5)
    assert concrete_document(scenario.drawn(SEED), SEED, {})["load"]["records"] == 5
