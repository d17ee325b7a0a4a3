"""A scenario: one claim about a cluster under faults, read from a YAML file and checked completely before the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Self

from broker_client.consumer_options import consumer_options
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_scenarios.checks.wire_check import WIRE_CHECKS
from broker_scenarios.drivers.catalogue import DRIVERS
from broker_scenarios.drivers.driver import DriverChoice
from broker_scenarios.drivers.driver_check import driver_problems
from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.run_operations import LIVENESS_DEADLINE
from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.language.certificates import certificate_problems, certificates_of, filled_in
from broker_scenarios.language.client_defects import problems_of
from broker_scenarios.language.clients import SHORT_FORM, ClientGroup
from broker_scenarios.language.draws import Draws, is_draw, rules_by_chance
from broker_scenarios.language.expected import expectation_of
from broker_scenarios.language.kinds import places_of_draws
from broker_scenarios.language.planting import parts_of_group, planted
from broker_scenarios.language.rule_check import RuleCheck
from broker_scenarios.language.rule_texts import rule_text
from broker_scenarios.language.schema import FLIP, SCENARIO
from broker_scenarios.language.script_check import ANYWHERE, ScriptCheck
from broker_scenarios.language.step_forms import parse_script
from broker_scenarios.language.yaml_source import ScenarioFileError, read_source
from broker_scenarios.workloads.keyed_load import LoadSpec, SizeShare
from broker_sim.broker_configs import BrokerConfigs
from broker_sim.cluster_input import config_texts
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.config.topic_config import TopicConfig
from broker_sim.errors import BrokerSimError, nearest, unknown_key
from broker_sim.faults.action import Need
from broker_sim.faults.grammar import named_rules, parse_rules
from broker_sim.faults.rule import RuleError
from broker_sim.metadata.bootstrap_metadata import check_features
from broker_sim.topic_spec import PARTITIONS_MAX, REPLICAS_MAX, TopicSpec
from broker_sim.yaml_source import Source
from protocol_specs import releases
from protocol_specs.errors import UnknownRelease

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from broker_scenarios.expectations import Expectation
    from broker_sim.faults.rule import Rule
    from broker_sim.faults.rule_state import Decision
    from broker_sim.yaml_source import KeyPath, Mistake
    from protocol_specs.releases import Release
    from sim_runtime.issued_certificates import IssuedCertificate

__all__ = ["Scenario", "load_scenario", "read_document"]

_DEADLINE_S: Final = 120.0
CONTROLLER_FIRST: Final = 3000
"""The node id of the first of several controllers."""
_SET_BY_THE_RUN: Final = {
    "bootstrap.servers": "is set by the run itself",
    "client.id": "is set by the run itself: the name of the client, with a count NAME-0, NAME-1, ...",
}


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
    controllers: int
    on_disk: bool
    broker_config: Mapping[str, str]
    broker_defects: tuple[str, ...]
    topics: tuple[TopicSpec, ...]
    clients: tuple[ClientGroup, ...]
    rules: tuple[Rule, ...]
    rule_texts: Mapping[str, str]
    """Each rule as the file states it, by name."""
    expectation: Expectation
    deadline_s: float
    claims: Mapping[str, Any] = field(default_factory=dict)
    """What is claimed beside the configurations, by the names of a promises file."""
    features: Mapping[str, int] = field(default_factory=dict)
    """The levels of the cluster's features that differ from those of a new cluster of the release."""
    always: tuple[str, ...] = ()
    """The invariants that are checked during the run."""
    draws: Draws | None = None
    """What the seed draws; the scenario itself has the first value of each draw. None: nothing, or it is drawn."""
    decisions: Mapping[str, Any] = field(default_factory=dict)
    """The values that were drawn, by name."""
    rule_decisions: Mapping[str, Mapping[str, Decision]] = field(default_factory=dict)
    """The draws of rules that are replayed, by rule and name."""
    records_given: int | None = None
    """The number of records that the command line gives."""
    only_simulated: str = ""
    """Why no real cluster shows the finding; empty if one may."""
    only_virtual: str = ""
    """Why the finding needs virtual time; empty if it does not."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The mapping that the file states, with its `base`, without its `flip`; what was drawn has replaced its draw."""
    flip: Scenario | None = None
    """The second run, which differs in what the file's `flip` states."""
    why: str = ""
    """In a flip: why the finding is gone."""
    planted: str | None = None
    """The defect that the command line has added to those of the file."""

    @property
    def wire_checks(self) -> tuple[str, ...]:
        """The checks of requests and of clients' resources that `expect` names: others are not made."""
        return tuple(name for name in self.expectation.counts if name in WIRE_CHECKS)

    @property
    def records(self) -> int:
        """How many records the loads send; scripts come on top."""
        return sum(group.load.records for group in self.clients if group.load is not None)

    @property
    def has_scripts(self) -> bool:
        """True if a client plays a script, which may send records as well."""
        return any(group.script for group in self.clients)

    @property
    def only_load(self) -> ClientGroup:
        """The one client group with a load, for a run that sends nothing else. Raises ScenarioError."""
        if len(self.clients) == 1 and self.clients[0].load is not None:
            return self.clients[0]
        raise ScenarioError(f"{self.path}: --spark sends one `load`; the scripts of `clients` run without it")

    def topic(self, name: str) -> TopicSpec:
        """The topic of that name; one that the file does not declare has the brokers' defaults."""
        return next((topic for topic in self.topics if topic.name == name), TopicSpec(name=name))

    def with_records(self, records: int) -> Scenario:
        """Return the same scenario with another number of records in its load. Raises ScenarioError without one."""
        loaded = [group for group in self.clients if group.load is not None]
        if len(loaded) != 1:
            raise ScenarioError(f"{self.path}: --records needs one load, there are {len(loaded)}")
        [only] = loaded
        assert only.load is not None, "it was chosen for its load"
        changed = replace(only, load=replace(only.load, records=records))
        flip = None if self.flip is None else self.flip.with_records(records)
        clients = tuple(changed if each is only else each for each in self.clients)
        return replace(self, clients=clients, records_given=records, flip=flip)

    def drawn(self, seed: int, replayed: Mapping[str, Any] | None = None) -> Scenario:
        """Return the scenario of a seed. `replayed` has values by the name of the draw, and draws of rules by rule.

        Raises:
            ScenarioError: a name is neither; with a mistake of the values together, ScenarioFileError.
        """
        given = {} if replayed is None else replayed
        names = [rule.name for rule in self.rules]
        rules = {name: each for name, each in given.items() if name in names and isinstance(each, dict)}
        values = {name: each for name, each in given.items() if name not in rules}
        if self.draws is None:
            if values and not self.decisions:
                raise ScenarioError(f"{self.path}: {next(iter(values))!r} is no draw and no rule with draws")
            return replace(self, rule_decisions=rules) if rules else self
        self.draws.refuse_unknown(iter(values))
        source, decisions = self.draws.drawn(seed, values)
        drawn = _read(source, self.path, self.name)
        if self.records_given is not None:
            drawn = drawn.with_records(self.records_given)
        return replace(drawn, decisions=decisions, rule_decisions=rules, why=self.why, planted=self.planted)

    def sides(self) -> tuple[Scenario, ...]:
        """The scenario, and its flip if it has one."""
        return (self,) if self.flip is None else (self, self.flip)


def load_scenario(path: Path, *, defect: str | None = None) -> Scenario:
    """Read and check a scenario file. `defect` is planted in its brokers or clients, on both sides of a flip.

    Raises:
        ScenarioError: with mistakes in the file, ScenarioFileError names each; or the file cannot have the defect.
    """
    source = read_source(path)
    name = path.name.removesuffix(".yaml").removesuffix(".yml")
    flip_given = source.value.get("flip")
    main = _checked(source if not isinstance(flip_given, dict) else source.without("flip"), path, name, defect)
    if not isinstance(flip_given, dict):
        return main
    mistakes = [
        source.mistake(("flip", key), f"missing: {FLIP.keys[key].meaning}")
        for key in FLIP.required
        if key not in flip_given
    ]
    mistakes += [
        source.mistake(("flip", key), unknown_key(key, FLIP.keys)) for key in flip_given if key not in FLIP.keys
    ]
    if mistakes:
        raise ScenarioFileError(sorted(mistakes, key=_place))
    why = flip_given["why"]
    overlaid = source.overlaid("flip", whole=("expect",), is_value=is_draw).without("why")
    try:
        other = _checked(overlaid, path, f"{name} (flip)", defect)
    except ScenarioFileError as error:
        # Without the flip the file is right: the mistake may stand outside of it, such as the name of a removed rule.
        raise ScenarioFileError(
            [replace(each, problem=f"{each.problem} (with the flip)") for each in error.mistakes]
        ) from None
    return replace(main, flip=replace(other, why=str(why)))


def read_document(document: Mapping[str, Any], path: Path, name: str) -> Scenario:
    """Check the values of a file without a base or a flip, as if `path` held them. Raises ScenarioFileError."""
    return _checked(Source(str(path), document), path, name)


def _checked(source: Source, path: Path, name: str, defect: str | None = None) -> Scenario:
    mistakes: list[Mistake] = []
    SCENARIO.check(source.value, (), lambda at, problem: mistakes.append(source.mistake(at, problem)))
    if mistakes:
        raise ScenarioFileError(sorted(mistakes, key=_place))
    if defect is not None:
        source = planted(source, defect)
    places = tuple(places_of_draws(SCENARIO, source.value))
    rules = rules_by_chance(source.value)
    if not places and not rules:
        return replace(_read(source, path, name), planted=defect)
    draws = Draws(source=source, places=places, rules=rules)
    first, last = draws.ends()
    scenario = _read(first, path, name)
    mistakes += [
        source.mistake(("rules", rule.name, *at), f"{named!r} has a chance: a seed may leave it out")
        for rule in scenario.rules
        for at, named in named_rules(rule)
        if named in rules
    ]
    if mistakes:
        raise ScenarioFileError(mistakes)
    _read(last, path, name)
    return replace(scenario, draws=draws, planted=defect)


def _read(source: Source, path: Path, name: str) -> Scenario:
    reader = _Reader(source)
    scenario = reader.scenario(path, name)
    if reader.mistakes:
        raise ScenarioFileError(sorted(reader.mistakes, key=_place))
    return scenario


def _place(mistake: Mistake) -> tuple[str, int, int]:
    return mistake.mark.file, mistake.mark.line, mistake.mark.column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Targets:
    """The nodes and partitions of the file, against which its rules are checked. One controller never fails."""

    broker_ids: Sequence[int]
    partition_counts: dict[str, int]
    capabilities: Collection[Need]
    controller_ids: Sequence[int] = ()

    @classmethod
    def of(cls, brokers: int, controllers: int, topics: Iterable[TopicSpec], *, on_disk: bool) -> Self:
        """Return the targets of a cluster with brokers 1 to `brokers`."""
        lacking = set() if on_disk else {Need.DISK, Need.VIRTUAL_DISK}
        return cls(
            broker_ids=range(1, brokers + 1),
            partition_counts={topic.name: topic.partitions for topic in topics},
            controller_ids=range(CONTROLLER_FIRST, CONTROLLER_FIRST + controllers) if controllers > 1 else (),
            capabilities=frozenset(Need) - lacking,
        )


class _Reader:
    """Turns checked values into a Scenario, and collects the mistakes that only the meaning of a value shows."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.value: dict[str, Any] = source.value
        self.mistakes: list[Mistake] = []
        self.certificates: Mapping[str, IssuedCertificate] = {}

    def complain(self, path: KeyPath, problem: str) -> None:
        self.mistakes.append(self.source.mistake(path, problem))

    def scenario(self, path: Path, name: str) -> Scenario:
        value = self.value
        cluster = value["cluster"]
        brokers, controllers = cluster["brokers"], cluster.get("controllers", 1)
        for at, problem in certificate_problems(value):
            self.complain(at, problem)
        if self.mistakes:
            raise ScenarioFileError(self.mistakes)  # configurations with references cannot be checked
        self.certificates = certificates_of(value, 0)
        on_disk = cluster.get("disk", "memory") == "virtual"
        release = value.get("release", DEFAULT_RELEASE)
        broker_config = config_texts(cluster.get("config", {}))
        topics = tuple(self.topic(topic, spec, brokers) for topic, spec in value["topics"].items())
        self.check_cluster(broker_config, topics, release)
        replicas = sum(topic.partitions * topic.replication_factor for topic in topics)
        if replicas > REPLICAS_MAX:
            self.complain(("topics",), f"{replicas} replicas of all topics exceed REPLICAS_MAX={REPLICAS_MAX}")
        possible = tuple(_with_acts(topics, value))
        targets = _Targets.of(brokers, controllers, possible, on_disk=on_disk)
        clients = self.clients(possible, targets)
        return Scenario(
            name=name,
            path=path,
            title=value["title"],
            claim=value.get("claim", ""),
            release=release,
            seed=value.get("seed", 0),
            brokers=brokers,
            controllers=controllers,
            on_disk=on_disk,
            broker_config=broker_config,
            broker_defects=tuple(cluster.get("defects", ())),
            features=cluster.get("features", {}),
            topics=topics,
            clients=clients,
            rules=self.rules(value.get("rules", {}), targets, clients),
            rule_texts={rule: rule_text(text) for rule, text in value.get("rules", {}).items()},
            expectation=self.expectation(clients, possible, brokers),
            deadline_s=value.get("deadline_s", _DEADLINE_S),
            claims=value.get("claims", {}),
            always=self.invariants(value.get("always", ()), value["expect"]),
            only_simulated=value.get("only_simulated", ""),
            only_virtual=value.get("only_virtual", ""),
            document=value,
        )

    def invariants(self, names: Sequence[str], expect: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names in `always`, and refuse to expect something of the others."""
        for name in expect:
            if name in INVARIANTS and name not in names:
                self.complain(("expect", name), "is checked during a run whose `always` names it")
        for place, name in enumerate(names):
            if name in names[:place]:
                self.complain(("always", place), f"{name!r} is there twice")
        return tuple(names)

    def expectation(self, clients: Iterable[ClientGroup], topics: Iterable[TopicSpec], brokers: int) -> Expectation:
        """Refuse what no run of the file can show: findings without their limit, and measures of nothing."""
        expect, claims = self.value["expect"], self.value.get("claims", {})
        for name, claim in (("realtime-lag", "max.realtime-lag.ms"), ("liveness", LIVENESS_DEADLINE)):
            if name in expect and claim not in claims:
                self.complain(
                    ("expect", name), f"is found by its claim: expected `claims: {{{claim}: 1000}}` or the like"
                )
        ids = [client_id for group in clients for client_id in group.client_ids]
        partitions = {topic.name: topic.partitions for topic in topics}
        for name, measure in expect.get("measures", {}).items():
            path = ("expect", "measures", name)
            pattern, topic, partition = (measure.get(key) for key in ("client", "topic", "partition"))
            if pattern is not None and not any(fnmatchcase(client_id, pattern) for client_id in ids):
                self.complain((*path, "client"), f"no client.id is {pattern!r}{nearest(pattern, ids)}")
            if topic is not None and topic not in partitions:
                self.complain((*path, "topic"), f"no topic is {topic!r}{nearest(topic, partitions)}")
            elif partition is not None and partition >= max(
                [partitions[topic]] if topic else partitions.values(), default=0
            ):
                self.complain((*path, "partition"), f"no topic has a partition {partition}")
            if measure.get("broker", 1) > brokers:
                self.complain((*path, "broker"), f"there are the brokers 1 to {brokers}")
        return expectation_of(expect)

    def topic(self, name: str, spec: Mapping[str, Any], brokers: int) -> TopicSpec:
        if spec["replication_factor"] > brokers:
            path = ("topics", name, "replication_factor")
            self.complain(path, f"{spec['replication_factor']} replicas need as many brokers, there are {brokers}")
        return TopicSpec(
            name=name,
            partitions=spec["partitions"],
            replication_factor=spec["replication_factor"],
            configs=config_texts(spec.get("config", {})),
        )

    def clients(self, topics: tuple[TopicSpec, ...], targets: _Targets) -> tuple[ClientGroup, ...]:
        value = self.value
        groups: list[ClientGroup] = []
        if "load" in value:
            config = config_texts(value.get("producer", {}))
            self.check_producer(("producer",), config)
            load = self.load(value["load"], ("load",), topics)
            groups.append(ClientGroup(name=SHORT_FORM, count=load.producers, producer=config, load=load))
        elif "producer" in value:
            self.complain(("producer",), "configures the producers of `load`, and there is no load")
        groups += (self.client(name, spec, topics) for name, spec in value.get("clients", {}).items())
        if not groups:
            self.complain((), "expected `load` or `clients`: no client sends or reads")
        names = [group.name for group in groups]
        for group in groups:
            check = ScriptCheck(
                group=group, topics=topics, clients=names, rules=list(value.get("rules", {})), targets=targets
            )
            for path, problem in check.problems():
                self.complain(("clients", group.name, "script", *path), problem)
            if group.load is not None and group.driver is None and "transactional.id" in (group.producer or {}):
                at = ("producer",) if group.name == SHORT_FORM else ("clients", group.name, "producer")
                problem = "a load sends outside of transactions: expected a script with init, begin and commit"
                self.complain((*at, "transactional.id"), problem)
        return tuple(groups)

    def client(self, name: str, spec: Mapping[str, Any], topics: tuple[TopicSpec, ...]) -> ClientGroup:
        path = ("clients", name)
        if name == SHORT_FORM and "load" in self.value:
            self.complain(path, f"{SHORT_FORM!r} is the name of the clients of `load`; expected another")
        producer = config_texts(spec["producer"]) if "producer" in spec else None
        consumer = config_texts(spec["consumer"]) if "consumer" in spec else None
        driver = _driver_of(spec.get("driver"))
        for part, config, check in (
            ("producer", producer, self.check_producer),
            ("consumer", consumer, self.check_consumer),
        ):
            if config is not None and self.sets_nothing_of_the_run((*path, part), config) and driver is None:
                check((*path, part), config)
        if producer is None and consumer is None:
            self.complain(path, "expected `producer`, `consumer` or both, perhaps without configurations: {}")
        if producer is None and "load" in spec:
            self.complain((*path, "load"), "is sent by a producer: expected `producer` beside it")
        if consumer is None and spec.get("final_polls"):
            self.complain((*path, "final_polls"), "are made by a consumer: expected `consumer` beside it")
        if not {"load", "script"} & spec.keys() and not spec.get("final_polls"):
            self.complain(path, "expected a `script`, a `load` or `final_polls`")
        for place, problem in problems_of(spec.get("defects", ()), parts_of_group(spec)):
            self.complain((*path, "defects", place), problem)
        count = spec.get("count", 1)
        group = ClientGroup(
            name=name,
            count=count,
            producer=producer,
            consumer=consumer,
            script=parse_script(spec.get("script", [])),
            load=self.load({"producers": count, **spec["load"]}, (*path, "load"), topics) if "load" in spec else None,
            load_after_ms=spec.get("load", {}).get("after_ms", 0),
            driver=driver,
            defects=tuple(spec.get("defects", ())),
            final_polls=spec.get("final_polls", False),
        )
        if driver is not None:
            for at, problem in driver_problems(driver.driver, group):
                self.complain((*path, *at), problem)
        return group

    def load(self, value: Mapping[str, Any], path: KeyPath, topics: tuple[TopicSpec, ...]) -> LoadSpec:
        names = [topic.name for topic in topics]
        if not names:
            self.complain(("topics",), "expected at least one topic to send to")
            names = ["none"]
        topic = value.get("topic", names[0])
        if topic not in names:
            self.complain((*path, "topic"), f"no topic is named {topic!r}; the topics are {', '.join(names)}")
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

    def rules(
        self, value: Mapping[str, Mapping[str, Any]], targets: _Targets, clients: Sequence[ClientGroup]
    ) -> tuple[Rule, ...]:
        try:
            rules = tuple(parse_rules([{**rule, "name": name} for name, rule in value.items()]))
        except RuleError as error:
            place, *rest = error.path
            self.complain(("rules", list(value)[int(place)], *rest), error.problem)
            return ()
        check = RuleCheck(clients=clients, targets=targets, release=self.release_of_brokers())
        for rule in rules:
            for path, problem in check.problems(rule):
                self.complain(("rules", rule.name, *path), problem)
        return rules

    def release_of_brokers(self) -> Release | None:
        """The release of the brokers, None if the file has a mistake there, or a ZooKeeper, which changes its mode."""
        if "zookeeper.connect" in self.value["cluster"].get("config", {}):
            return None
        try:
            return releases.get(self.value.get("release", DEFAULT_RELEASE))
        except UnknownRelease:
            return None

    def check_cluster(self, broker_config: Mapping[str, str], topics: tuple[TopicSpec, ...], release: str) -> None:
        """Let brokers and topics check their own configurations, one name at a time where they can."""
        try:
            defaults = BrokerConfig.parse({}, release=release)
        except BrokerSimError as error:
            self.complain(("release",), str(error))
            return
        broker_ids = range(1, self.value["cluster"]["brokers"] + 1)
        if defaults.behaviour.zookeeper and self.value["cluster"].get("controllers", 1) > 1:
            problem = f"release {release} has ZooKeeper, and one of its brokers is the controller: expected none"
            self.complain(("cluster", "controllers"), problem)
        for name, level in self.value["cluster"].get("features", {}).items():
            try:
                check_features({name: level}, defaults.release)
            except BrokerSimError as error:
                self.complain(("cluster", "features", name), str(error))
        reported = len(self.mistakes)
        self.attempt(
            ("cluster", "config"),
            broker_config,
            lambda config: BrokerConfigs(config, broker_ids=broker_ids, release=release),
        )
        if len(self.mistakes) > reported:
            return  # a defect may need a configuration: it is checked with those of the file
        for place, defect in enumerate(self.value["cluster"].get("defects", ())):
            try:
                BrokerConfigs(broker_config, broker_ids=broker_ids, release=release, defects=[defect])
            except BrokerSimError as error:
                self.complain(("cluster", "defects", place), str(error))
        for topic in topics:
            self.attempt(
                ("topics", topic.name, "config"), topic.configs, lambda config: TopicConfig.resolve(config, defaults)
            )

    def check_producer(self, path: KeyPath, config: Mapping[str, str]) -> None:
        """Let the producer check its configurations."""
        if self.sets_nothing_of_the_run(path, config):
            self.attempt(path, config, lambda config: ProducerConfig({**ANYWHERE, **config}))

    def check_consumer(self, path: KeyPath, config: Mapping[str, str]) -> None:
        """Let the consumer check its configurations."""
        if self.sets_nothing_of_the_run(path, config):
            self.attempt(path, config, lambda config: consumer_options({**ANYWHERE, **config}))

    def sets_nothing_of_the_run(self, path: KeyPath, config: Mapping[str, str]) -> bool:
        for name, reason in _SET_BY_THE_RUN.items():
            if name in config:
                self.complain((*path, name), reason)
                return False
        return True

    def attempt(self, path: KeyPath, config: Mapping[str, str], check: Callable[[Mapping[str, str]], object]) -> None:
        """Check a whole configuration, because names can conflict; report the mistake at the name in the error."""
        try:
            check(filled_in(config, self.certificates))
        except (BrokerSimError, ProducerError) as error:
            for text in str(error).splitlines():
                named = [name for name in config if name in text]
                first = min(named, key=lambda name: (text.index(name), -len(name)), default=None)
                self.complain(path if first is None else (*path, first), text)


def _with_acts(topics: Iterable[TopicSpec], value: Mapping[str, Any]) -> Iterator[TopicSpec]:
    """The topics that the file may name: those that an action creates or adds partitions to can have any number."""
    acts = [*_acts_in(value.get("rules", {})), *_acts_in(value.get("clients", {}))]
    growing = dict.fromkeys(topic for act in acts for topic in _topics_that_grow(act))
    for topic in topics:
        is_growing = growing.pop(topic.name, True) is None
        yield replace(topic, partitions=PARTITIONS_MAX) if is_growing else topic
    yield from (TopicSpec(name=name, partitions=PARTITIONS_MAX) for name in growing)


def _acts_in(value: object) -> Iterator[Mapping[str, Any]]:
    """The actions of rules, and of steps at any depth of scripts."""
    if isinstance(value, dict):
        act = value.get("act")
        if isinstance(act, dict):
            yield act
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _acts_in(item)


def _topics_that_grow(act: Mapping[str, Any]) -> Iterator[str]:
    for name in ("create_topic", "add_partitions"):
        given = act.get(name)
        topic = given.get("topic") if isinstance(given, dict) else given
        if isinstance(topic, str):
            yield topic


def _driver_of(value: Any) -> DriverChoice | None:
    """Return the driver that a client names: `aiokafka`, or `{name: aiokafka, version: "0.12.0"}`."""
    if value is None:
        return None
    named: Mapping[str, str] = value if isinstance(value, dict) else {"name": value}
    return DriverChoice(DRIVERS[named["name"]], named.get("version"))
