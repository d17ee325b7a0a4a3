"""Documented bugs of foreign clients: one version shows it and the fixed one does not, here and on a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.drivers.catalogue import DRIVERS
from broker_scenarios.drivers.driver import DriverChoice
from broker_scenarios.drivers.installed import install
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.table import load_progress
from broker_scenarios.targets.started_kafka import KafkaClusters, KafkaRelease
from broker_scenarios.targets.upstream import attached_to
from broker_scenarios.tcp_run import run_attached, run_locally, run_on_kafka
from tests.interop.kafka_release import ToolMissingError, classpath
from tests.interop.prepared_release import quick_start
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest.mark import ParameterSet

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.language.scenario import Scenario
    from tests.interop.real_kafka import RealKafka

pytestmark = pytest.mark.interop

FOLDER = Path(__file__).parents[2] / "scenarios" / "foreign"
PAIRS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with real_kafka("4.3.1") as running:
        yield running


def brokers_of(name: str) -> int:
    """How many brokers a pair has."""
    return load_scenario(FOLDER / f"{name}.yaml").brokers


def parameters(names: Iterable[str]) -> list[ParameterSet]:
    """The pairs of these names. What a client does in a second is measured while nothing else runs."""
    rates = [name for name in PAIRS if "_in_a_second" in (FOLDER / f"{name}.yaml").read_text()]
    return [pytest.param(name, marks=[pytest.mark.alone] if name in rates else []) for name in names]


def sides_of(name: str) -> tuple[Scenario, ...]:
    """Both sides of a pair, with the versions of their clients installed."""
    sides = load_scenario(FOLDER / f"{name}.yaml").sides()
    for group in (group for side in sides for group in side.clients):
        if group.driver is not None and group.driver.version is not None:
            try:
                install(group.driver)
            except ScenarioError as missing:
                raise ToolMissingError(str(missing)) from None
    return sides


@pytest.mark.parametrize("name", parameters(PAIRS))
def test_one_version_shows_the_bug_and_the_fixed_one_does_not(name: str) -> None:
    for side in sides_of(name):
        with load_progress(side.name, side.records) as progress:
            run = judged(run_locally(side, side.seed, progress), engine=None)
        assert run.judgement.misses == (), side.name


@pytest.mark.parametrize("name", parameters(name for name in PAIRS if brokers_of(name) == 1))
def test_the_same_on_a_real_broker(kafka: RealKafka, name: str) -> None:
    host, _, port = kafka.bootstrap_servers.partition(",")[0].rpartition(":")
    for side in sides_of(name):
        with load_progress(side.name, side.records) as progress:
            run = judged(run_attached(side, side.seed, progress, attached_to((host, int(port)), None)), engine=None)
        assert run.judgement.misses == (), side.name


@pytest.mark.parametrize("name", parameters(name for name in PAIRS if brokers_of(name) > 1))
def test_the_same_on_real_brokers_that_crash(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_OPTS", " ".join(quick_start("4.3.1")))
    with KafkaClusters(KafkaRelease(Path(classpath("4.3.1")).parent)) as clusters:
        for side in sides_of(name):
            with load_progress(side.name, side.records) as progress:
                run = judged(run_on_kafka(side, side.seed, progress, clusters), engine=None)
            assert run.judgement.misses == (), side.name


FRANZ_GO = """
title: t
cluster: {brokers: 1, config: {transaction.state.log.replication.factor: 1, transaction.state.log.min.isr: 1}}
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  fed: {driver: {name: franz-go, version: VERSION}, producer: {linger.ms: 0}, load: {records: 50, rate_per_second: 500}}
  app:
    driver: {name: franz-go, version: VERSION}
    producer: {transactional.id: t}
    script: [init, begin, {send: {count: 2, partition: 1}}, commit, begin, {send: 1}, flush, abort, close]
rules: {lose: {select: {api: Produce, client: fed, nth: 1}, phase: before_response, act: disconnect}}
expect: {stored: 52, lost: 0, duplicate: 0, transactions: {ok: 1, fail: 1}}
"""


GO_CONSUMERS = """
title: t
cluster:
  brokers: 1
  config:
    transaction.state.log.replication.factor: 1
    transaction.state.log.min.isr: 1
    offsets.topic.replication.factor: 1
    group.initial.rebalance.delay.ms: 0
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  app:
    producer: {transactional.id: t, linger.ms: 0}
    script:
      - init
      - begin
      - {send: {count: 4, partition: 0}}
      - {send: {count: 2, partition: 1}}
      - commit
      - begin
      - {send: {partition: 0}}
      - flush
      - abort
      - close
  by-hand:
    driver: {name: franz-go, version: VERSION}
    consumer: {auto.offset.reset: earliest, isolation.level: read_committed}
    script:
      - {wait: {client: app}}
      - {assign: [orders]}
      - {poll: {records: 6, timeout_ms: 30000}}
      - {seek: {orders-0: 3, orders-1: beginning}}
      - {poll: {until: end}}
      - close
  member:
    driver: {name: franz-go, version: VERSION}
    consumer: {auto.offset.reset: earliest, isolation.level: read_committed, group.id: g, enable.auto.commit: false}
    script:
      - {wait: {client: app}}
      - {subscribe: [orders]}
      - {poll: {records: 6, timeout_ms: 30000}}
      - commit_offsets
      - {seek: {orders-1: 1}}
      - {poll: {records: 1, timeout_ms: 30000}}
      - unsubscribe
      - {subscribe: [orders]}
      - {poll: {until: end}}
      - close
expect: {verdict: valid, stored: 6, lost: 0, duplicate: 0, transactions: {ok: 1, fail: 1}}
"""


def run_with_franz_go(text: str, folder: Path) -> Evidence:
    choice = DriverChoice(DRIVERS["franz-go"], "1.20.7")
    try:
        install(choice)
    except ScenarioError as missing:
        raise ToolMissingError(str(missing)) from None
    path = folder / "case.yaml"
    path.write_text(text.replace("VERSION", str(choice.version)))
    scenario = load_scenario(path)
    with load_progress(scenario.name, scenario.records) as progress:
        evidence = run_locally(scenario, 1, progress)
    assert judged(evidence, engine=None).judgement.misses == ()
    return evidence


def reads_of(run: Evidence) -> dict[int, list[tuple[str, int]]]:
    """The partition and the offset of each record that a process has polled."""
    assert run.operations is not None
    reads: dict[int, list[tuple[str, int]]] = {}
    for operation in run.operations.operations:
        for mop in operation.results if operation.f == "poll" else ():
            found = reads.setdefault(operation.process, [])
            found += [(key, offset) for key, records in sorted(mop[1].items()) for offset, _ in records]
    return reads


def test_franz_go_plays_a_load_and_transactions(tmp_path: Path) -> None:
    run_with_franz_go(FRANZ_GO, tmp_path)


def test_franz_go_plays_consumers(tmp_path: Path) -> None:
    run = run_with_franz_go(GO_CONSUMERS, tmp_path)
    whole = [*(("orders-0", offset) for offset in range(4)), ("orders-1", 0), ("orders-1", 1)]
    by_hand, member = reads_of(run).values()
    assert sorted(by_hand) == sorted([*whole, ("orders-0", 3), ("orders-1", 0), ("orders-1", 1)])
    assert sorted(member) == sorted([*whole, ("orders-1", 1)])


VERIFIABLE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  mine: {producer: {linger.ms: 0}, load: {records: 20, rate_per_second: 200, keys: 0}}
  java:
    driver: {name: verifiable-producer, version: "4.3.1"}
    producer: {linger.ms: 0, retries: 5, enable.idempotence: true}
    load: {records: 60, rate_per_second: 200, keys: 0}
rules: {lose: {select: {api: Produce, client: java, nth: 1}, phase: before_response, act: disconnect}}
expect: {acked: 80, stored: 80, lost: 0, duplicate: 0}
flip:
  why: the producer of the tool is not idempotent by itself
  clients: {java: {producer: {enable.idempotence: false}}}
  expect: {acked: 80, lost: 0, duplicate: ">= 1"}
"""


def test_javas_verifiable_producer_sends_a_load(tmp_path: Path) -> None:
    classpath("4.3.1")
    path = tmp_path / "case.yaml"
    path.write_text(VERIFIABLE)
    for side in load_scenario(path).sides():
        with load_progress(side.name, side.records) as progress:
            run = judged(run_locally(side, 1, progress), engine=None)
        assert run.judgement.misses == (), side.name


MEMBERS = """
title: t
cluster: {brokers: 1, config: {offsets.topic.replication.factor: 1, group.initial.rebalance.delay.ms: 0}}
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  mine: {producer: {linger.ms: 0}, load: {records: 20, rate_per_second: 200, keys: 0}}
  java:
    driver: {name: verifiable-producer, version: "4.3.1"}
    producer: {linger.ms: 0}
    load: {records: 60, rate_per_second: 200, keys: 0}
  member:
    driver: {name: verifiable-consumer, version: "4.3.1"}
    consumer: {group.id: g, auto.offset.reset: earliest}
    script: [{subscribe: [orders]}, {poll: {records: 80, timeout_ms: 60000}}, close]
  next:
    driver: {name: verifiable-consumer, version: "4.3.1"}
    consumer: {group.id: g, auto.offset.reset: earliest}
    script: [{wait: {client: member}}, {subscribe: [orders]}, {poll: {records: 1, timeout_ms: 60000}}, close]
  last:
    producer: {linger.ms: 0}
    script: [{wait: {client: member}}, {send: {wait: true}}, close]
expect: {verdict: valid, acked: 81, stored: 81, lost: 0, duplicate: 0}
"""


def test_javas_verifiable_consumer_reads_and_commits(tmp_path: Path) -> None:
    classpath("4.3.1")
    path = tmp_path / "case.yaml"
    path.write_text(MEMBERS)
    scenario = load_scenario(path)
    with load_progress(scenario.name, scenario.records) as progress:
        run = run_locally(scenario, 1, progress)
    assert judged(run, engine=None).judgement.misses == ()
    member, following = reads_of(run).values()
    assert len({*member, *following}) == len(member) + len(following) == 80 + 1


def test_there_are_pairs_of_each_client() -> None:
    clients = {
        group.driver.driver.name
        for name in PAIRS
        for group in load_scenario(FOLDER / f"{name}.yaml").clients
        if group.driver is not None
    }
    assert clients >= {"aiokafka", "confluent-kafka", "franz-go", "kafka-python"}
    assert len(PAIRS) >= 8
