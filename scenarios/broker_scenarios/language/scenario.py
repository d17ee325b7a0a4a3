"""A scenario: one claim about a cluster under faults, read from a YAML file and checked completely before the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import yaml

from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_scenarios.expectations import CountRange, Expectation
from broker_scenarios.language.schema import SCENARIO, parse_count
from broker_scenarios.language.yaml_source import Mistake, ScenarioFileError, Source, read_source
from broker_scenarios.verdict import Validity
from broker_scenarios.workloads.keyed_load import LoadSpec, SizeShare
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import BrokerSimError
from broker_sim.faults.action import Need
from broker_sim.faults.grammar import parse_rules
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_checks import check_targets
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from broker_scenarios.language.yaml_source import KeyPath
    from broker_sim.faults.rule import Rule

__all__ = ["Scenario", "load_scenario"]

_DEADLINE_S: Final = 120.0
_VERDICT: Final = "verdict"
_ERRORS: Final = "errors"
_SET_BY_THE_RUN: Final = ("bootstrap.servers", "client.id")
_ANYWHERE: Final = {"bootstrap.servers": "127.0.0.1:9092"}
"""Stands for the cluster that is not there yet while a producer's configuration is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a run needs; `name` is the file's, without its ending."""

    name: str
    path: Path
    title: str
    claim: str
    release: str
    seed: int
    brokers: int
    on_disk: bool
    broker_config: Mapping[str, str]
    topics: tuple[TopicSpec, ...]
    load: LoadSpec
    producer_config: Mapping[str, str]
    rules: tuple[Rule, ...]
    rule_texts: Mapping[str, str]
    """Each rule as the file states it, by name."""
    expectation: Expectation
    deadline_s: float

    @property
    def loaded_topic(self) -> TopicSpec:
        """The topic that the load goes to."""
        return next(topic for topic in self.topics if topic.name == self.load.topic)

    def with_records(self, records: int) -> Scenario:
        """Return the same scenario with another number of records."""
        return replace(self, load=replace(self.load, records=records))


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario file. Raises ScenarioError; with mistakes in the file, ScenarioFileError names each."""
    source = read_source(path)
    mistakes: list[Mistake] = []
    SCENARIO.check(source.value, (), lambda at, problem: mistakes.append(source.mistake(at, problem)))
    if mistakes:
        raise ScenarioFileError(sorted(mistakes, key=_place))
    reader = _Reader(source)
    scenario = reader.scenario(path)
    if reader.mistakes:
        raise ScenarioFileError(sorted(reader.mistakes, key=_place))
    return scenario


def _place(mistake: Mistake) -> tuple[str, int, int]:
    return mistake.mark.file, mistake.mark.line, mistake.mark.column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Targets:
    """The brokers and partitions of the file, against which its rules are checked. The one controller never fails."""

    broker_ids: Sequence[int]
    partition_counts: dict[str, int]
    capabilities: Collection[Need]
    controller_ids: Sequence[int] = ()

    @classmethod
    def of(cls, brokers: int, topics: Iterable[TopicSpec], *, on_disk: bool) -> Self:
        """Return the targets of a cluster with brokers 1 to `brokers`."""
        counts = {topic.name: topic.partitions for topic in topics}
        lacking = set() if on_disk else {Need.DISK, Need.VIRTUAL_DISK}
        return cls(broker_ids=range(1, brokers + 1), partition_counts=counts, capabilities=frozenset(Need) - lacking)


class _Reader:
    """Turns checked values into a Scenario, and collects the mistakes that only the meaning of a value shows."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.value: dict[str, Any] = source.value
        self.mistakes: list[Mistake] = []

    def complain(self, path: KeyPath, problem: str) -> None:
        self.mistakes.append(self.source.mistake(path, problem))

    def scenario(self, path: Path) -> Scenario:
        value = self.value
        brokers = value["cluster"]["brokers"]
        on_disk = value["cluster"].get("disk", "memory") == "virtual"
        release = value.get("release", DEFAULT_RELEASE)
        broker_config = _texts(value["cluster"].get("config", {}))
        producer_config = _texts(value.get("producer", {}))
        topics = tuple(self.topic(name, spec, brokers) for name, spec in value["topics"].items())
        self.check_configs(broker_config, producer_config, topics, release)
        return Scenario(
            name=path.name.removesuffix(".yaml").removesuffix(".yml"),
            path=path,
            title=value["title"],
            claim=value.get("claim", ""),
            release=release,
            seed=value.get("seed", 0),
            brokers=brokers,
            on_disk=on_disk,
            broker_config=broker_config,
            topics=topics,
            load=self.load(value["load"], topics),
            producer_config=producer_config,
            rules=self.rules(value.get("rules", {}), _Targets.of(brokers, topics, on_disk=on_disk)),
            rule_texts={name: _rule_text(rule) for name, rule in value.get("rules", {}).items()},
            expectation=_expectation(value["expect"]),
            deadline_s=value.get("deadline_s", _DEADLINE_S),
        )

    def topic(self, name: str, spec: Mapping[str, Any], brokers: int) -> TopicSpec:
        if spec["replication_factor"] > brokers:
            path = ("topics", name, "replication_factor")
            self.complain(path, f"{spec['replication_factor']} replicas need as many brokers, there are {brokers}")
        return TopicSpec(
            name=name,
            partitions=spec["partitions"],
            replication_factor=spec["replication_factor"],
            configs=_texts(spec.get("config", {})),
        )

    def load(self, value: Mapping[str, Any], topics: tuple[TopicSpec, ...]) -> LoadSpec:
        names = [topic.name for topic in topics]
        if not names:
            self.complain(("topics",), "expected at least one topic to send to")
            names = ["none"]
        topic = value.get("topic", names[0])
        if topic not in names:
            self.complain(("load", "topic"), f"no topic is named {topic!r}; the topics are {', '.join(names)}")
        sizes = value.get("sizes", [{"bytes": 100}])
        return LoadSpec(
            topic=topic,
            records=value["records"],
            producers=value["producers"],
            rate_per_s=value["rate_per_second"],
            keys=value.get("keys", 1_000),
            zipf=value.get("zipf", 1.0),
            sizes=tuple(SizeShare(size_bytes=size["bytes"], share=size.get("share", 1.0)) for size in sizes),
        )

    def rules(self, value: Mapping[str, Mapping[str, Any]], targets: _Targets) -> tuple[Rule, ...]:
        try:
            rules = tuple(parse_rules([{**rule, "name": name} for name, rule in value.items()]))
        except RuleError as error:
            place, *rest = error.path
            self.complain(("rules", list(value)[int(place)], *rest), error.problem)
            return ()
        for rule in rules:
            try:
                check_targets(rule, targets)
            except RuleError as error:
                self.complain(("rules", rule.name, *error.path), error.problem)
        return rules

    def check_configs(
        self,
        broker_config: Mapping[str, str],
        producer_config: Mapping[str, str],
        topics: tuple[TopicSpec, ...],
        release: str,
    ) -> None:
        """Let broker, topic and producer check their own configurations, one name at a time where they can."""
        try:
            defaults = BrokerConfig.parse({}, release=release)
        except BrokerSimError as error:
            self.complain(("release",), str(error))
            return
        self.attempt(("cluster", "config"), broker_config, lambda config: BrokerConfig.parse(config, release=release))
        for topic in topics:
            self.attempt(
                ("topics", topic.name, "config"), topic.configs, lambda config: TopicConfig.resolve(config, defaults)
            )
        for name in _SET_BY_THE_RUN:
            if name in producer_config:
                self.complain(("producer", name), "is set by the run itself")
                return
        self.attempt(("producer",), producer_config, lambda config: ProducerConfig({**_ANYWHERE, **config}))

    def attempt(self, path: KeyPath, config: Mapping[str, str], check: Callable[[Mapping[str, str]], object]) -> None:
        """Check a whole configuration, because names can conflict; report the mistake at the name in the error."""
        try:
            check(config)
        except (BrokerSimError, ProducerError) as error:
            named = [name for name in config if name in str(error)]
            self.complain((*path, max(named, key=len)) if named else path, str(error))


def _texts(config: Mapping[str, str | float | bool]) -> dict[str, str]:
    """Configurations as Kafka takes them: as text."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in config.items()}


def _rule_text(rule: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(rule), default_flow_style=True, sort_keys=False, width=10_000).strip()[1:-1]


def _expectation(value: Mapping[str, Any]) -> Expectation:
    verdict = value.get("verdict", Validity.VALID.value)
    return Expectation(
        validity=None if verdict == "any" else Validity(verdict),
        counts={name: _range(count) for name, count in value.items() if name not in {_VERDICT, _ERRORS}},
        errors={name: _range(count) for name, count in value.get(_ERRORS, {}).items()},
    )


def _range(written: int | str) -> CountRange:
    at_least, at_most = parse_count(written)
    return CountRange(at_least=at_least, at_most=at_most)
