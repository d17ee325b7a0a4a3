from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from broker_scenarios.errors import ScenarioError
from broker_scenarios.expectations import CountRange
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.language.schema import json_schema
from broker_scenarios.language.yaml_source import ScenarioFileError

ROOT = Path(__file__).parents[3]
CATALOG = sorted((ROOT / "scenarios" / "catalog").rglob("*.yaml"))
PUBLISHED = ROOT / "scenarios" / "scenario.schema.json"

SMALL = """
title: t
cluster: {brokers: 1, config: {}}
topics:
  orders: {partitions: 1, replication_factor: 1}
load: {records: 10, producers: 1, rate_per_second: 100}
expect: {lost: 0}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "case.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", CATALOG, ids=lambda path: path.stem)
def test_every_scenario_of_the_catalogue_is_readable_and_fits_the_published_schema(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    header, _, _ = path.read_text().partition("\n")
    schema = header.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / schema).resolve() == PUBLISHED, "an editor finds the schema by the first line"
    assert scenario.claim, "a scenario of the catalogue states its claim"
    jsonschema.Draft202012Validator(json_schema()).validate(yaml.safe_load(path.read_text()))


def test_the_published_schema_is_the_one_that_is_checked() -> None:
    assert json.loads(PUBLISHED.read_text()) == json.loads(json.dumps(json_schema()))


def patterns_of(schema: object) -> list[str]:
    """Every regular expression in a schema."""
    if isinstance(schema, list):
        return [pattern for item in schema for pattern in patterns_of(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    return own + [pattern for value in schema.values() for pattern in patterns_of(value)]


def test_the_patterns_of_the_schema_mean_the_same_in_javascript() -> None:
    # Editors validate with JavaScript, where these forms of Python are an error or have another meaning.
    python_only = re.compile(r"\(\?(P|#|>|\(|[aiLmsux])|\\[AZGdwsbDWSB]|[*+?}]\+")
    patterns = patterns_of(json_schema())
    assert len(patterns) > 2
    assert [pattern for pattern in patterns if python_only.search(pattern)] == []


@pytest.mark.parametrize(("written", "fits"), [(">= 1", True), ("<=3", True), ("7", True), (">1", False), ("x", False)])
def test_the_schema_takes_the_counts_that_a_scenario_takes(written: str, fits: bool) -> None:
    validator = jsonschema.Draft202012Validator(json_schema()["properties"]["expect"])
    assert validator.is_valid({"lost": written}) is fits


def test_a_flip_keeps_the_values_that_it_does_not_state() -> None:
    base = load_scenario(ROOT / "scenarios/catalog/leader-crash-acks-1.yaml")
    flip = load_scenario(ROOT / "scenarios/catalog/leader-crash-acks-all.yaml")
    assert (base.producer_config["acks"], flip.producer_config["acks"]) == ("1", "all")
    assert flip.load == base.load
    assert flip.rules == base.rules
    assert flip.expectation.counts["lost"] == CountRange(at_least=0, at_most=0)
    assert flip.topics[0].configs["min.insync.replicas"] == "2"


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        (
            "brokers: 1",
            "broker: 1",
            "2:11: cluster.broker: unknown key; expected one of brokers, config, disk; did you",
        ),
        ("partitions: 1", "partitions: none", "topics.orders.partitions: expected a whole number from 1 to 10000"),
        ("records: 10", "record: 10", "load.record: unknown key"),
        ("replication_factor: 1", "replication_factor: 3", "3 replicas need as many brokers, there are 1"),
        ("config: {}", "config: {num.io.thread: 3}", "did you mean 'num.io.threads'?"),
        ("config: {}", "config: {num.io.threads: many}", "num.io.threads"),
        ("lost: 0", "lost: some", "expect.lost: expected a number, '>= N' or '<= N', not 'some'"),
        ("lost: 0", "lots: 0", "did you mean 'lost'?"),
        ("lost: 0", "errors: {NOT_ENOUGH_REPLICA: 1}", "expect.errors.NOT_ENOUGH_REPLICA: unknown name"),
        ("lost: 0", "errors: {NOT_ENOUGH_REPLICAS: some}", "expect.errors.NOT_ENOUGH_REPLICAS: expected a number"),
        ("lost: 0", "verdict: vaild", "did you mean 'valid'?"),
        ("title: t", "release: '9.9'\ntitle: t", "9.9"),
        ("title: t", "producer: {ack: 1}\ntitle: t", "did you mean"),
        ("title: t", "producer: {acks: 7}\ntitle: t", "acks"),
        ("title: t", "rules: {a: {act: hodl}}\ntitle: t", "rules.a.act: 'hodl' is no act"),
        ("title: t", "rules: {a: {act: hold, when: {after: b}}}\ntitle: t", "rules.a.when.after: no rule is named 'b'"),
        (
            "title: t",
            "rules:\n  a: {act: {kill: 7}}\ntitle: t",
            "2:13: rules.a.act.kill: there is no broker 7: they are [1]",
        ),
        (
            "title: t",
            "rules: {a: {act: {stop: leader of order-0}}}\ntitle: t",
            "rules.a.act.stop: there is no topic 'order'; did you mean 'orders'?",
        ),
        (
            "title: t",
            "rules: {a: {act: {stop: leader of orders-3}}}\ntitle: t",
            "rules.a.act.stop: topic 'orders' has no partition 3: it has 1 (0 to 0)",
        ),
        (
            "title: t",
            "rules: {a: {act: hold, select: {api: Fetch, replica: 9}}}\ntitle: t",
            "rules.a.select.replica: there is no broker 9",
        ),
        (
            "title: t",
            "rules: {a: {act: {kill: active controller}}}\ntitle: t",
            "1:19: rules.a.act.kill: the cluster has one controller, which never fails",
        ),
        (
            "title: t",
            "rules: {a: {act: hold, select: {replica: any, topic: orders}}}\ntitle: t",
            "rules.a.select.replica: the Fetch of a follower has no single partition",
        ),
        ("records: 10", "records: 10, topic: oders", "no topic is named 'oders'; the topics are orders"),
        ("title: t", "", "title: missing"),
    ],
)
def test_a_mistake_is_named_with_file_line_key_and_the_nearest_right_spelling(
    tmp_path: Path, wrong: str, right: str, problem: str
) -> None:
    assert wrong in SMALL
    path = written(tmp_path, SMALL.strip().replace(wrong, right))
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(path)
    assert problem in str(raised.value)
    assert str(raised.value).startswith(f"{path}:")


def test_all_mistakes_are_named_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL.strip().replace("brokers", "broker").replace("lost", "lots"))
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(path)
    assert [mistake.path[-1] for mistake in raised.value.mistakes] == ["brokers", "broker", "lots"]


def test_a_scenario_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        load_scenario(tmp_path / "none.yaml")
