from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.yaml_source import ScenarioFileError
from broker_scenarios.sweeps.seed_run import run_seed
from broker_scenarios.virtual_run import VirtualRun
from tests.scenarios.playing.runs import scenario_of

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
title: t
cluster: {brokers: {one_of: [1, 3]}, config: {num.io.threads: {uniform: [1, 8]}}}
topics: {orders: {partitions: {uniform: [1, 4]}, replication_factor: 1}}
clients:
  app:
    producer: {linger.ms: {uniform: [0, 20]}, acks: {one_of: [all, 1]}}
    script:
      - {send: {uniform: [1, 9]}}
      - {wait: {uniform: [1.5, 30]}}
      - {send: {count: {one_of: [2, 4]}, size_bytes: {uniform: [50, 500]}}}
      - flush
      - close
rules:
  late: {select: {api: Produce}, phase: before_append, act: {delay_ms: [1, 9]}}
expect: {lost: 0}
flip: {why: w, rules: {late: null}, expect: {lost: 0}}
"""
NAMES = {
    "cluster.brokers", "cluster.config.num.io.threads", "topics.orders.partitions", "clients.app.producer.linger.ms",
    "clients.app.producer.acks", "clients.app.script.0.send", "clients.app.script.1.wait",
    "clients.app.script.2.send.count", "clients.app.script.2.send.size_bytes",
}  # fmt: skip


def drawn(folder: Path, text: str, seed: int, replayed: dict[str, Any] | None = None) -> dict[str, Any]:
    return dict(scenario_of(folder, text).drawn(seed, replayed).decisions)


def test_a_seed_draws_each_number_by_its_name(tmp_path: Path) -> None:
    made = [drawn(tmp_path, FILE, seed) for seed in range(40)]
    assert set(made[0]) == NAMES
    assert drawn(tmp_path, FILE, 7) == made[7]
    assert {each["cluster.brokers"] for each in made} == {1, 3}
    sends = {each["clients.app.script.0.send"] for each in made}
    assert len(sends) > 5
    assert sends <= set(range(1, 10))
    assert {each["clients.app.producer.acks"] for each in made} == {"all", 1}
    assert all(1.5 <= each["clients.app.script.1.wait"] <= 30 for each in made)
    scenario = scenario_of(tmp_path, FILE).drawn(7)
    assert scenario.brokers == made[7]["cluster.brokers"]
    assert scenario.topics[0].partitions == made[7]["topics.orders.partitions"]
    assert scenario.clients[0].producer is not None
    assert scenario.clients[0].producer["linger.ms"] == str(made[7]["clients.app.producer.linger.ms"])
    assert scenario.drawn(8) is scenario


def test_a_draw_does_not_depend_on_others_and_is_that_of_the_flip(tmp_path: Path) -> None:
    before = drawn(tmp_path, FILE, 3)
    fewer = FILE.replace("one_of: [1, 3]", "one_of: [2]").replace("{uniform: [1, 8]}", "4")
    after = drawn(tmp_path, fewer, 3)
    assert after == {name: before[name] for name in NAMES if name != "cluster.config.num.io.threads"} | {
        "cluster.brokers": 2
    }
    flip = scenario_of(tmp_path, FILE).flip
    assert flip is not None
    assert flip.drawn(3).decisions == before
    assert flip.drawn(3).why == "w"


def test_a_run_is_that_of_a_file_with_the_drawn_values(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, FILE)
    evidence = VirtualRun(scenario, 5).run(None)
    made = evidence.scenario.decisions
    written = FILE.replace("{one_of: [1, 3]}", str(made["cluster.brokers"]))
    for form, name in (
        ("{uniform: [1, 8]}", "cluster.config.num.io.threads"),
        ("{uniform: [1, 4]}", "topics.orders.partitions"),
        ("{uniform: [0, 20]}", "clients.app.producer.linger.ms"),
        ("{one_of: [all, 1]}", "clients.app.producer.acks"),
        ("{uniform: [1, 9]}", "clients.app.script.0.send"),
        ("{uniform: [1.5, 30]}", "clients.app.script.1.wait"),
        ("{one_of: [2, 4]}", "clients.app.script.2.send.count"),
        ("{uniform: [50, 500]}", "clients.app.script.2.send.size_bytes"),
    ):
        written = written.replace(form, str(made[name]))
    again = VirtualRun(scenario_of(tmp_path, written), 5).run(None)
    assert again.scenario.decisions == {}
    assert again.facts["digest"] == evidence.facts["digest"]


def test_draws_are_replayed_by_name(tmp_path: Path) -> None:
    given = {"clients.app.script.0.send": 9, "late": {"act.delay_ms@1": 4.5}}
    made = drawn(tmp_path, FILE, 3, given)
    assert made == drawn(tmp_path, FILE, 3) | {"clients.app.script.0.send": 9}
    evidence = VirtualRun(scenario_of(tmp_path, FILE).drawn(3, given), 3).run(None)
    [rule] = evidence.rules
    assert rule.decisions["act.delay_ms@1"] == 4.5
    with pytest.raises(ScenarioError, match=r"'clients.app.script.0.sent' is no draw; did you mean"):
        drawn(tmp_path, FILE, 3, {"clients.app.script.0.sent": 9})
    plain = FILE.replace("{one_of: [1, 3]}", "1")
    for form in (
        "{uniform: [1, 8]}",
        "{uniform: [1, 4]}",
        "{uniform: [0, 20]}",
        "{one_of: [all, 1]}",
        "{one_of: [2, 4]}",
    ):
        plain = plain.replace(form, "1")
    plain = plain.replace("{uniform: [1, 9]}", "1").replace("{uniform: [1.5, 30]}", "1")
    plain = plain.replace("{uniform: [50, 500]}", "50")
    with pytest.raises(ScenarioError, match="'nothing' is no draw and no rule with draws"):
        drawn(tmp_path, plain, 3, {"nothing": 9})
    assert scenario_of(tmp_path, plain).drawn(3, {"late": {"act.delay_ms@1": 2.0}}).rule_decisions == {
        "late": {"act.delay_ms@1": 2.0}
    }


def test_the_result_of_a_run_replays_it_on_another_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(FILE)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert main(["run", str(path), "--seed", "4", "--json", str(first)]) == 0
    results = [json.loads(line) for line in first.read_text().splitlines()]
    assert set(results[0]["decisions"]) == {*NAMES, "late"}
    assert set(results[1]["decisions"]) == NAMES
    assert f"drawn: cluster.brokers {results[0]['decisions']['cluster.brokers']}, " in capsys.readouterr().out
    given = tmp_path / "given.json"
    given.write_text(json.dumps({name: results[0]["decisions"][name] for name in NAMES}))
    assert main(["run", str(path), "--seed", "9", "--decisions", str(given), "--json", str(second)]) == 0
    again = [json.loads(line) for line in second.read_text().splitlines()]
    assert {name: again[0]["decisions"][name] for name in NAMES} == json.loads(given.read_text())
    assert f"--decisions {given}" in again[0]["reproduce"]
    given.write_text("[1]")
    assert main(["run", str(path), "--decisions", str(given)]) == 2
    assert main(["run", str(path), "--decisions", str(tmp_path / "none.json")]) == 2


def test_a_sweep_draws_for_each_seed(tmp_path: Path) -> None:
    text = FILE.replace("clients:", "load: {records: {uniform: [5, 30]}, producers: 1, rate_per_second: 500}\nclients:")
    scenario = scenario_of(tmp_path, text)
    sent = [run_seed(scenario, seed).counts.sent for seed in range(4)]
    assert len(set(sent)) > 1
    assert "--records 3" in run_seed(scenario.with_records(3), 0).result.reproduce
    assert "--records" not in run_seed(scenario, 0).result.reproduce
    made = scenario.with_records(3).drawn(0)
    assert made.records == 3


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("{uniform: [9, 1]}", "send.uniform: expected the lowest and the highest number, not [9, 1]"),
        ("{uniform: [1]}", "send.uniform: expected the lowest and the highest number, not [1]"),
        ("{uniform: 4}", "send.uniform: expected a list of values, not 4"),
        ("{uniform: [0, 4]}", "send.uniform.0: expected a whole number from 1"),
        ("{uniform: [1, 2.5]}", "send.uniform.1: expected a whole number from 1"),
        ("{one_of: [1, many]}", "send.one_of.1: expected a whole number from 1"),
        ("{one_of: []}", "send.one_of: expected a list of values, not []"),
        ("{unifrom: [1, 4]}", "send.unifrom: unknown key"),
    ],
)
def test_a_wrong_draw_is_named(tmp_path: Path, form: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        scenario_of(tmp_path, FILE.replace("{uniform: [1, 9]}", form))
    assert str(raised.value).startswith(f"{tmp_path}/case.yaml:9:")
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("title: t", "title: t\nseed: {uniform: [1, 2]}", "seed: expected a whole number"),
        ("expect: {lost: 0}\n", "expect: {live_within_ms: {uniform: [1, 2]}}\n", "live_within_ms: expected a number"),
        ("replication_factor: 1", "replication_factor: 3", "3 replicas need as many brokers, there are 1"),
        ("{uniform: [0, 20]}", "{uniform: [0, -20]}", "expected the lowest and the highest number"),
        ("{uniform: [0, 20]}", "{one_of: [0, -20]}", "linger.ms"),
    ],
)
def test_what_holds_for_no_draw_is_found_before_the_run(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        scenario_of(tmp_path, FILE.replace(old, new, 1))
    assert problem in str(raised.value)


CHANCES = FILE.replace("late: {", "late: {chance: 0.5, ").replace(
    "rules:\n", "rules:\n  sure: {select: {api: Produce}, act: observe}\n"
)


def test_a_seed_has_a_rule_by_its_chance(tmp_path: Path) -> None:
    scenarios = [scenario_of(tmp_path, CHANCES).drawn(seed) for seed in range(60)]
    assert {rule.name for scenario in scenarios for rule in scenario.rules} == {"sure", "late"}
    having = [scenario for scenario in scenarios if len(scenario.rules) == 2]
    assert 15 < len(having) < 45
    for scenario in scenarios:
        assert ("late" in scenario.document["rules"]) is scenario.decisions["rules.late.chance"] is (scenario in having)
    assert "chance" not in having[0].document["rules"]["late"]
    others = {name: value for name, value in having[0].decisions.items() if name in NAMES}
    assert others == drawn(tmp_path, FILE, scenarios.index(having[0]))


def test_the_presence_of_a_rule_is_replayed_by_name(tmp_path: Path) -> None:
    for present in (True, False):
        scenario = scenario_of(tmp_path, CHANCES).drawn(3, {"rules.late.chance": present})
        assert len(scenario.rules) == 1 + present


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("chance: 0.5", "chance: 2", r"rules.late.chance: expected a number from 0 to 1, not 2"),
        ("chance: 0.5", "chance: often", r"rules.late.chance: expected a number from 0 to 1, not 'often'"),
        ("sure: {", "sure: {chance: 1, when: {after: late}, ", "rules.sure.when.after: 'late' has a chance"),
        ("- flush", "- {wait: {rule: late}}", "no rule is named 'late'"),
    ],
)
def test_a_wrong_chance_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in CHANCES
    with pytest.raises(ScenarioFileError, match=problem):
        scenario_of(tmp_path, CHANCES.replace(old, new))


def test_a_seed_draws_the_release(tmp_path: Path) -> None:
    text = FILE.replace("title: t", 'title: t\nrelease: {one_of: ["3.7.2", "4.3.1"]}')
    assert {scenario_of(tmp_path, text).drawn(seed).release for seed in range(20)} == {"3.7.2", "4.3.1"}
    with pytest.raises(ScenarioFileError, match=r"release: .*3\.99"):
        scenario_of(tmp_path, text.replace("4.3.1", "3.99"))
