from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml

from broker_scenarios.errors import ScenarioError
from broker_scenarios.expectations import CountRange
from broker_scenarios.language.kinds import Key, Keys
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.language.schema import FLIP, SCENARIO, json_schema
from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.language.yaml_source import ScenarioFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
CATALOG = sorted(path for folder in ("catalog", "swarms") for path in (ROOT / "scenarios" / folder).rglob("*.yaml"))
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
    validator = jsonschema.Draft202012Validator(json_schema()["else"]["properties"]["expect"])
    assert validator.is_valid({"lost": written}) is fits


@pytest.mark.parametrize(("above", "fits"), [({"base": "groups.yaml"}, True), ({}, False)])
def test_the_schema_takes_null_where_a_file_is_laid_over_another(above: dict[str, str], fits: bool) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({**above, "title": "t", "cluster": {"config": {"min.insync.replicas": None}}}) is fits


def test_a_file_keeps_the_values_of_its_base_that_it_does_not_state() -> None:
    base = load_scenario(ROOT / "scenarios/catalog/leader-crash-acks-1.yaml")
    other = load_scenario(ROOT / "scenarios/catalog/leader-crash-acks-all.yaml")
    configs = [scenario.only_load.producer or {} for scenario in (base, other)]
    assert [config["acks"] for config in configs] == ["1", "all"]
    assert other.only_load.load == base.only_load.load
    assert other.rules == base.rules
    assert other.expectation.counts["lost"] == CountRange(at_least=0, at_most=0)
    assert other.topics[0].configs["min.insync.replicas"] == "2"


FLIPPED = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {acks: 1, linger.ms: 5}, script: [{send: 3}, flush, close]}
rules:
  lose: {select: {api: Produce, nth: 2}, phase: before_response, act: disconnect}
  late: {select: {api: Produce}, phase: before_append, act: {delay_ms: 5}, optional: true}
expect: {lost: 0, duplicate: 1}
flip:
  why: because
  clients: {app: {producer: {acks: all, linger.ms: null}}}
  rules: {lose: null}
  expect: {duplicate: 0}
"""


def test_a_flip_is_the_file_with_its_changes_laid_over_it(tmp_path: Path) -> None:
    main, flip = load_scenario(written(tmp_path, FLIPPED)).sides()
    assert (main.clients[0].producer, flip.clients[0].producer) == ({"acks": "1", "linger.ms": "5"}, {"acks": "all"})
    assert [rule.name for rule in main.rules] == ["lose", "late"]
    assert [rule.name for rule in flip.rules] == ["late"]
    assert list(flip.expectation.counts) == ["duplicate"], "an expectation is replaced, not merged"
    assert (flip.name, flip.why, flip.seed) == ("case (flip)", "because", main.seed)


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        ("why: because", "whi: because", "flip.why: missing"),
        ("why: because", "whi: because", "flip.whi: unknown key"),
        ("rules: {lose: null}", "rules: {lose: {act: hodl}}", "13:18: rules.lose.act: 'hodl' is no action"),
        ("rules: {lose: null}", "rules: {lose: {act: slow_link}}", "did you mean 'shape_link'?"),
        ("acks: all", "ackz: all", "12:30: clients.app.producer.ackz"),
    ],
)
def test_a_mistake_in_a_flip_is_named_where_it_is(tmp_path: Path, wrong: str, right: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(written(tmp_path, FLIPPED.strip().replace(wrong, right)))
    assert problem in str(raised.value)


def test_a_mistake_that_a_flip_makes_of_another_line_names_the_flip(tmp_path: Path) -> None:
    waits = FLIPPED.strip().replace("[{send: 3}, flush, close]", "[{send: 3}, {wait: {rule: lose}}, close]")
    with pytest.raises(ScenarioFileError, match=r"5:\d+: .*: no rule is named 'lose'.* \(with the flip\)$"):
        load_scenario(written(tmp_path, waits))


def test_an_act_of_a_script_may_name_an_earlier_one(tmp_path: Path) -> None:
    acts = "[{act: {kill: 1}}, {act: {restart: killed by app acts (1)}}, close]"
    load_scenario(written(tmp_path, FLIPPED.strip().replace("[{send: 3}, flush, close]", acts)))


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("[{sned: 3}]", "script.0.sned: 'sned' is no step; did you mean 'send'?; expected one of send"),
        ("[{sleep: 3}]", "script.0.sleep: 'sleep' is no step; did you mean 'wait'?; expected one of send"),
        ("[send]", "script.0: send needs a value, such as"),
        ("[{send: 0}]", "script.0.send: expected a whole number from 1"),
        ("[{send: {topik: orders}}]", "script.0.send.topik: unknown key"),
        ("[{send: {topic: order}}]", "script.0: no topic is named 'order'; did you mean 'orders'?"),
        ("[{send: {partition: 1}}]", "script.0: topic 'orders' has no partition 1: it has 1 (0 to 0)"),
        ("[init, close]", "script.0: init needs a transactional producer: expected transactional.id in `producer`"),
        ("[{repeat: {times: 2, steps: [begin]}}]", "script.0.repeat.steps.0: begin needs a transactional producer"),
        ("[{poll: 1}]", "script.0: poll needs a consumer"),
        ("[{copy: {to: orders, records: 1}}]", "script.0: copy needs a consumer"),
        ("[{wait: {rule: los}}]", "script.0: no rule is named 'los'; did you mean 'lose'?"),
        ("[{wait: {client: app}}]", "script.0: a client cannot wait for the end of its own script"),
        (
            "[{repeat: {times: 2, steps: [{assign: {orders: [1]}}]}}]",
            "script.0.repeat.steps.0: assign needs a consumer",
        ),
        ("[{act: {kil: 1}}]", "script.0.act: 'kil' is no action"),
        ("[{act: {kill: 7}}]", "script.0: there is no broker 7: they are [1]"),
        ("[{act: {restart: killed by los}}]", "script.0: no rule is named 'los'; did you mean 'lose'?"),
        ("[{act: {stop: leader of order-0}}]", "script.0: there is no topic 'order'"),
        ("[{restart: {producer: {ackz: all}}}]", "script.0: unknown configuration 'ackz'"),
        ("[{wait: {event: {kind: LeaderElectd}}}]", "script.0.wait.event.kind: 'LeaderElectd' is no event"),
        ("[{wait: {event: {kind: LeaderElected, topik: t}}}]", "script.0.wait.event.topik: unknown key"),
        ("[{act: hold}]", "script.0.act: hold acts on a request"),
        ("[{flush: 7}]", "script.0.flush: expected a mapping with timeout_ms"),
        ("[{resend: all}]", "script.0.resend: expected one of failed, unknown, unconfirmed"),
    ],
)
def test_a_mistake_in_a_script_is_named(tmp_path: Path, script: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(written(tmp_path, FLIPPED.strip().replace("[{send: 3}, flush, close]", script)))
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("config", "script", "problem"),
    [
        ("{}", "[{subscribe: [orders]}]", "script.0: subscribe needs a group: expected group.id in `consumer`"),
        ("{}", "[{assign: {orders: all}}, commit_offsets]", "script.1: commit_offsets needs a group"),
        ("{group.id: g}", "[{subscribe: [orders]}, {poll: 1}, commit_offsets, close]", None),
        ("{}", "[{assign: {orders: all}}, {poll: 1}, close]", None),
    ],
)
def test_a_step_of_a_group_needs_its_id(tmp_path: Path, config: str, script: str, problem: str | None) -> None:
    text = FLIPPED.partition("rules:")[0] + f"  reader: {{consumer: {config}, script: {script}}}\nexpect: {{}}\n"
    if problem is None:
        assert len(load_scenario(written(tmp_path, text)).clients) == 2
    else:
        with pytest.raises(ScenarioFileError, match=re.escape(f"clients.reader.{problem}")):
            load_scenario(written(tmp_path, text))


def test_a_restart_may_make_a_producer_transactional(tmp_path: Path) -> None:
    script = "[{send: 1}, crash, {restart: {producer: {transactional.id: t, acks: all}}}, init, begin, commit, close]"
    text = FLIPPED.partition("flip:")[0].replace("[{send: 3}, flush, close]", script)
    assert load_scenario(written(tmp_path, text)).clients[0].producer == {"acks": "1", "linger.ms": "5"}


@pytest.mark.parametrize("key", ["when", "until"])
def test_a_share_of_the_load_needs_a_load(tmp_path: Path, key: str) -> None:
    text = FLIPPED.partition("flip:")[0].replace("late: {", f"late: {{{key}: {{acked_share: 0.5}}, ")
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(written(tmp_path, text))
    assert f"rules.late.{key}.acked_share: there is no load to take a share of: expected acked_records" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        ("{script: [close]}", "clients.app: expected `producer`, `consumer` or both"),
        ("{producer: {}}", "clients.app: expected a `script`, a `load` or `final_polls`"),
        ("{consumer: {}, load: {records: 1, rate_per_second: 1}}", "clients.app.load: is sent by a producer"),
        ("{producer: {}, final_polls: true, script: [close]}", "clients.app.final_polls: are made by a consumer"),
        ("{consumer: {group.di: g}, script: [close]}", "clients.app.consumer.group.di"),
        ("{producer: {client.id: x}, script: [close]}", "clients.app.producer.client.id: is set by the run itself"),
    ],
)
def test_a_mistake_in_a_client_is_named(tmp_path: Path, client: str, problem: str) -> None:
    app = "{producer: {acks: 1, linger.ms: 5}, script: [{send: 3}, flush, close]}"
    with pytest.raises(ScenarioFileError) as raised:
        load_scenario(written(tmp_path, FLIPPED.strip().replace(app, client).partition("flip:")[0]))
    assert problem in str(raised.value)


def examples_of(keys: Keys, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Key]]:
    """Every key below `keys`, with its path."""
    for name, key in keys.keys.items():
        yield (*path, name), key
        below = getattr(key.kind, "value", key.kind)
        if isinstance(below, Keys):
            yield from examples_of(below, (*path, name))


STEP_KEYS = [((word,), Key(form.kind, form.meaning, form.example)) for word, form in STEPS.items()]


@pytest.mark.parametrize(
    ("path", "key"),
    [each for each in [*examples_of(SCENARIO), *STEP_KEYS] if each[1].example is not None],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) and isinstance(value[0], str) else "",
)
def test_the_example_of_every_key_is_right(path: tuple[str, ...], key: Key) -> None:
    mistakes: list[str] = []
    kind = FLIP_EXAMPLE if path == ("flip",) else key.kind
    kind.check(key.example, path, lambda at, problem: mistakes.append(f"{at}: {problem}"))
    assert mistakes == []
    assert key.meaning[0] != key.meaning[0].upper() or not key.meaning[0].isalpha() or key.meaning[1].isupper()


FLIP_EXAMPLE = Keys(keys=FLIP.keys)


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        (
            "brokers: 1",
            "broker: 1",
            "2:11: cluster.broker: unknown key; did you mean 'brokers'?; expected one of brokers, controllers, config",
        ),
        ("partitions: 1", "partitions: none", "topics.orders.partitions: expected a whole number from 1 to 10000"),
        ("records: 10", "record: 10", "load.record: unknown key"),
        ("replication_factor: 1", "replication_factor: 3", "3 replicas need as many brokers, there are 1"),
        ("config: {}", "config: {num.io.thread: 3}", "did you mean 'num.io.threads'?"),
        ("config: {}", "config: {num.io.threads: many}", "num.io.threads"),
        ("lost: 0", "lost: some", "expect.lost: expected a number, '>= N' or '<= N', not 'some'"),
        ("lost: 0", "lots: 0", "did you mean 'lost'?"),
        ("lost: 0", "errors: {NOT_ENOUGH_REPLICA: 1}", "expect.errors.NOT_ENOUGH_REPLICA: unknown name"),
        (
            "lost: 0",
            "outcome: {TimeoutException: 1}",
            "such as NOT_LEADER_OR_FOLLOWER; did you mean 'REQUEST_TIMED_OUT'?",
        ),
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


def test_a_defect_is_checked_with_the_configurations_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pipelined.yaml"
    path.write_text(
        "title: t\n"
        "cluster: {brokers: 1, config: {thread.model: pipelined}, defects: [requests-overtake]}\n"
        "topics: {orders: {partitions: 1, replication_factor: 1}}\n"
        "load: {records: 1, producers: 1, rate_per_second: 1}\n"
        "expect: {lost: 0}\n"
    )
    assert load_scenario(path).broker_defects == ("requests-overtake",)
    path.write_text(path.read_text().replace("config: {thread.model: pipelined}, ", ""))
    with pytest.raises(ScenarioFileError, match=r"without thread\.model=pipelined"):
        load_scenario(path)


def test_a_position_of_no_partition_is_named(tmp_path: Path) -> None:
    client = "reader: {consumer: {}, script: [{seek: {orders: 5}}]}"
    text = FLIPPED.strip().replace("clients:\n  app:", f"clients:\n  {client}\n  app:", 1)
    with pytest.raises(ScenarioFileError, match="'orders' is no partition: expected TOPIC-PARTITION, such as orders-0"):
        load_scenario(written(tmp_path, text))


GROWING = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
    producer: {}
    consumer: {}
    script:
      - {repeat: {times: 2, steps: [{act: {create_topic: bills}}]}}
      - {send: {topic: bills, partition: 4}}
      - {assign: {orders: [0, 3]}}
rules:
  grow: {act: {add_partitions: {topic: orders, count: 3}}}
  stall: {select: {topic: orders, partition: 3}, phase: before_append, act: {delay_ms: 5}}
  end: {when: {after: grow}, act: {kill: leader of bills-0}}
expect: {}
"""


def test_a_file_may_name_what_its_actions_create(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, GROWING))
    assert [topic.name for topic in scenario.topics] == ["orders"]
    with pytest.raises(ScenarioError, match="topic 'orders' has no partition 3"):
        load_scenario(written(tmp_path, GROWING.replace("add_partitions: {topic: orders, count: 3}", "kill: 1")))
    with pytest.raises(ScenarioError, match="no topic is named 'bills'"):
        load_scenario(written(tmp_path, GROWING.replace("create_topic: bills", "delete_topic: bills")))


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ("{liveness: 0}", "expect.liveness: is found by its claim: expected `claims: {liveness.deadline.ms: 1000}`"),
        ("{realtime-lag: 0}", "expect.realtime-lag: is found by its claim: expected `claims: {max.realtime-lag.ms"),
        ("{measures: {m: {measure: requests, client: producr-0, is: 0}}}", "did you mean 'producer-0'"),
        ("{measures: {m: {measure: requests, api: Prodduce, is: 0}}}", "did you mean 'Produce'"),
        ("{measures: {m: {measure: requests, broker: 2, is: 0}}}", "there are the brokers 1 to 1"),
        ("{measures: {m: {measure: longest_ack_ms, topic: order, is: 0}}}", "did you mean 'orders'"),
        ("{measures: {m: {measure: longest_ack_ms, partition: 999, is: 0}}}", "no topic has a partition"),
        ("{measures: {m: {measure: longest_call_ms, call: cloze, is: 0}}}", "did you mean 'close'"),
    ],
)
def test_an_expectation_that_nothing_can_show_is_named(tmp_path: Path, expect: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(problem)):
        load_scenario(written(tmp_path, f"{SHORT}expect: {expect}\n"))


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ("{transaction.version: 3}", "cluster.features.transaction.version: features: transaction.version is 0 to 2"),
        ("{transactions.version: 1}", "did you mean 'transaction.version'"),
        ("{metadata.version: 1}", "no feature 'metadata.version' that can be set"),
    ],
)
def test_levels_of_features_are_those_of_the_release(tmp_path: Path, features: str, problem: str) -> None:
    text = SHORT.replace("brokers: 1", f"brokers: 1, features: {features}") + "expect: {}\n"
    with pytest.raises(ScenarioError, match=re.escape(problem)):
        load_scenario(written(tmp_path, text))


def test_a_rule_on_no_client_is_refused_before_the_run(tmp_path: Path) -> None:
    text = SMALL + "rules: {end: {when: {at_ms: 5}, act: {kill_client: producers}}}\n"
    problem = r"rules\.end\.act\.kill_client: no client is named 'producers'; did you mean 'producer'\?"
    with pytest.raises(ScenarioFileError, match=problem):
        load_scenario(written(tmp_path, text))
    for name in ("producer", "producer-0"):
        load_scenario(written(tmp_path, text.replace("producers}", f"{name}}}")))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("load: LOAD\nproducer: {transactional.id: t}\n", "producer"),
        ("clients: {app: {producer: {transactional.id: t}, load: LOAD}}\n", "clients.app.producer"),
    ],
)
def test_a_load_cannot_send_in_transactions(tmp_path: Path, text: str, place: str) -> None:
    head = "title: t\ncluster: {brokers: 1}\ntopics: {orders: {partitions: 1, replication_factor: 1}}\nexpect: {}\n"
    load = (
        "{records: 1, rate_per_second: 1, producers: 1}" if place == "producer" else "{records: 1, rate_per_second: 1}"
    )
    with pytest.raises(ScenarioFileError, match=f"{place}.transactional.id: a load sends outside of transactions"):
        load_scenario(written(tmp_path, head + text.replace("LOAD", load)))


def test_a_rule_does_not_select_the_broker_of_its_request(tmp_path: Path) -> None:
    text = SHORT + "rules: {r: {select: {api: Produce, broker: self}, act: hold}}\nexpect: {}\n"
    with pytest.raises(ScenarioError, match=r"rules.r.select.broker: 'self' is the broker of a request"):
        load_scenario(written(tmp_path, text))


def test_controllers_beside_zookeeper_are_refused_with_their_line(tmp_path: Path) -> None:
    text = SHORT.replace("brokers: 1", "brokers: 3, controllers: 3") + 'release: "2.8.2"\nexpect: {}\n'
    with pytest.raises(ScenarioError, match=r"case.yaml:2:23: cluster.controllers: release 2\.8\.2 has ZooKeeper"):
        load_scenario(written(tmp_path, text))


def test_a_release_written_as_a_number_is_to_be_quoted(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r'expected a text, not 3\.1; a number is a text in quotes: "3\.1"'):
        load_scenario(written(tmp_path, f"{SHORT}release: 3.1\nexpect: {{}}\n"))


SHORT = """title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
load: {records: 1, producers: 1, rate_per_second: 1}
"""
