"""The needs of a scenario that a running cluster does not meet: they are named before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.admin.topics import NewTopic
from broker_scenarios.checks.wire_check import NEEDS_BROKERS
from broker_scenarios.language.steps import Act, Repeat, Wait
from broker_sim.config.per_broker import split_by_broker
from broker_sim.config.release_behaviour import DEFAULT_RELEASE, behaviour_of
from broker_sim.config.simulator_configs import AUTHORIZER_DEFINITIONS, SIMULATOR_DEFINITIONS
from broker_sim.control import events
from broker_sim.errors import BrokerSimError, ConfigError
from broker_sim.faults.action import Need
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.link_action import ALL, CLIENTS, ClientEnd, LinkAction
from broker_sim.faults.rule_checks import check_parts, check_targets
from broker_sim.metadata.bootstrap_metadata import check_features
from protocol_specs.errors import UnknownRelease

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_client.core.admin.configs import ConfigEntry
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.language.steps import Script, Step
    from broker_scenarios.targets.attached_cluster import AttachedCluster
    from broker_sim.faults.gates import EventGate
    from broker_sim.faults.rule import Rule

__all__ = ["config_problem", "placed_topics", "problem_of", "rule_problem", "rules_of"]

ABOUT_INTERNAL_TOPICS: Final = ("offsets.topic.", "transaction.state.log.", "share.coordinator.state.topic.")
"""The sizes of internal topics, which a cluster of another size has otherwise: no finding depends on them."""

UNCLEAN: Final = "unclean.leader.election.enable"

SEEN: Final = frozenset({
    events.BatchAppended,
    events.BrokerKilled,
    events.BrokerStarted,
    events.BrokerStopped,
    events.ConnectionClosed,
    events.ConnectionOpened,
    events.ControllerKilled,
    events.IsrChanged,
    events.LeaderElected,
    events.ProduceCompleted,
    events.RequestReceived,
    events.ResponseSent,
    events.RuleFired,
    events.RuleReleased,
})  # fmt: skip
"""The events in the journal of a run on a running cluster."""


def problem_of(scenario: Scenario, release: str | None) -> str | None:
    """Return what no running cluster has, or none of this release; None if there is nothing."""
    sides = scenario.sides()
    if scenario.only_simulated:
        return f"only a simulated cluster shows it: {scenario.only_simulated}"
    if scenario.only_virtual:
        return f"only virtual time shows it: {scenario.only_virtual}"
    if any(side.document["cluster"].get("certificates") for side in sides):
        return "cluster.certificates: a proxy does not read what TLS encrypts"
    if scenario.broker_defects:
        return f"a running cluster cannot be given defects ({scenario.broker_defects[0]})"
    if scenario.always:
        return f"always: a proxy does not see the state that {scenario.always[0]} reads"
    for measure in scenario.expectation.measures:
        if "metric" in measure.select:
            return f"{measure.name}: the metrics of a running cluster are not read"
    for name in scenario.wire_checks:
        if name in NEEDS_BROKERS:
            return f"expect.{name}: a proxy does not see the results that it compares"
    if scenario.on_disk:
        return f"a running cluster does not have {Need.VIRTUAL_DISK.description}"
    if len({side.release for side in sides}) > 1:
        return f"its cause is the release: {' and '.join(side.release for side in sides)}"
    if scenario.release not in {DEFAULT_RELEASE, release}:
        return f"it is about release {scenario.release}"
    if scenario.features:
        if release is None:
            return "the levels of features of a running cluster are not set"
        try:
            check_features(scenario.features, release)
        except (BrokerSimError, UnknownRelease) as error:
            return str(error)
    if release is not None and not _elects_uncleanly(release):
        for topic in (topic for side in sides for topic in side.topics if topic.configs.get(UNCLEAN) == "true"):
            return f"topics.{topic.name}: controllers of {release} ignore {UNCLEAN} (KAFKA-12670)"
    own = [name for name in scenario.broker_config if name.rpartition(":")[2] in SIMULATOR_DEFINITIONS]
    if own:
        return f"{own[0]} is a configuration of the simulator"
    for gate in _event_gates(scenario):
        if gate.kind not in SEEN:
            return f"a proxy does not see {gate.kind.__name__}"
    return next(filter(None, map(_between_brokers, rules_of(scenario))), None)


def _elects_uncleanly(release: str) -> bool:
    try:
        return behaviour_of(release.rpartition(".")[0]).kraft_elects_uncleanly
    except ConfigError:
        return True  # it is newer than every release that is known here


def _event_gates(scenario: Scenario) -> Iterator[EventGate]:
    for rule in scenario.rules:
        for gate in (rule.when, rule.until):
            if gate is not None and gate.event is not None:
                yield gate.event
    for group in scenario.clients:
        for step in _steps(group.script):
            if isinstance(step, Wait) and step.event is not None:
                yield step.event


def _between_brokers(rule: Rule) -> str | None:
    if rule.select.replica is not None:
        return f"{rule.name}: a proxy does not see the requests between brokers"
    act = rule.act
    if isinstance(act, LinkAction):
        ends = (*act.sources, *act.targets)
        if not any(isinstance(end, ClientEnd) or end in {ALL, CLIENTS} for end in ends):
            return f"{rule.name}: a proxy does not see the links between brokers"
    return None


def rule_problem(scenario: Scenario, cluster: AttachedCluster) -> str | None:
    """Return what a rule or act of the scenario needs that the cluster does not offer."""
    for rule in rules_of(scenario):
        try:
            check_parts(rule)
            check_targets(rule, cluster.admin)
        except BrokerSimError as error:
            return f"{rule.name}: {error}"
    return None


def rules_of(scenario: Scenario) -> Iterator[Rule]:
    """Iterate over the rules of a scenario, and over the acts of its scripts as rules."""
    yield from scenario.rules
    for group in scenario.clients:
        for step in _steps(group.script):
            if isinstance(step, Act):
                yield parse_rule({"name": f"clients.{group.name}", "act": step.act})


def _steps(script: Script) -> Iterator[Step]:
    for step in script:
        if isinstance(step, Repeat):
            yield from _steps(step.steps)
        else:
            yield step


def config_problem(scenario: Scenario, found: Mapping[int, Mapping[str, ConfigEntry]]) -> str | None:
    """Return the first configuration of the scenario that a foreign cluster has otherwise.

    `found` has those of its brokers, in order.
    """
    common, own = split_by_broker(scenario.broker_config, range(1, scenario.brokers + 1))
    for place, broker_id in enumerate(list(found)[: scenario.brokers], 1):
        has = found[broker_id]
        for name, value in own.get(place, common).items():
            if name.startswith(ABOUT_INTERNAL_TOPICS):
                continue
            if name in AUTHORIZER_DEFINITIONS and name in has:
                continue  # a broker hides the value: it does not define the name
            actual = has[name].value if name in has else None
            if actual != value:
                return f"its cluster has {name}={value}; broker {broker_id} has {actual}"
    return None


def placed_topics(scenario: Scenario, broker_ids: Sequence[int]) -> list[NewTopic]:
    """Return the topics of the scenario as a cluster with these brokers is requested to create them."""
    return [
        NewTopic(
            name=topic.name,
            assignments=dict(enumerate(topic.placed_on(list(broker_ids[: scenario.brokers])))),
            configs=topic.configs,
        )
        for topic in scenario.topics
    ]
