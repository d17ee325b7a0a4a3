"""The checks of a rule against the rest of its file: clients, groups, transactional ids, other rules and releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.language.steps import Restart
from broker_sim.errors import nearest
from broker_sim.faults.actions.cluster.force_rebalance import ForceRebalance
from broker_sim.faults.actions.cluster.move_coordinator import MoveCoordinator
from broker_sim.faults.actions.cluster.upgrade import Upgrade
from broker_sim.faults.client_action import ClientAction
from broker_sim.faults.grammar import named_rules
from broker_sim.faults.rule import CoordinatorOf, RuleError
from broker_sim.faults.rule_checks import check_targets
from broker_sim.release_upgrade import pair_problem
from protocol_specs import releases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.language.clients import ClientGroup
    from broker_sim.faults.rule import Rule
    from broker_sim.faults.rule_targets import RuleTargets
    from broker_sim.yaml_source import KeyPath
    from protocol_specs.releases import Release

__all__ = ["RuleCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """Finds what a rule names and the file does not have, and what could never happen in a run of the file."""

    clients: Sequence[ClientGroup]
    targets: RuleTargets
    release: Release | None
    """The release of the brokers; None if the file does not decide it, or has a mistake there."""

    def problems(self, rule: Rule) -> Iterator[tuple[KeyPath, str]]:
        """The path within the rule and the problem of each mistake."""
        if not any(group.load is not None for group in self.clients):
            for key, gate in (("when", rule.when), ("until", rule.until)):
                if gate is not None and gate.acked_share is not None:
                    yield (key, "acked_share"), "there is no load to take a share of: expected acked_records"
        try:
            check_targets(rule, self.targets)
        except RuleError as error:
            yield error.path, error.problem
        for path, named in named_rules(rule):
            if named == rule.name and path[0] == "when":
                yield path, f"rule {named!r} cannot open after itself: expected another rule"
        act = rule.act
        if isinstance(act, ClientAction):
            names = [name for group in self.clients for name in (group.name, *group.client_ids)]
            if act.client not in names:
                yield ("act", act.name), f"no client is named {act.client!r}{nearest(act.client, names)}"
        if isinstance(act, Upgrade) and self.release is not None:
            problem = pair_problem(self.release, releases.get(act.to))
            if problem is not None:
                yield ("act", act.name), f"a broker {problem}"
            elif self.targets.controller_ids:
                yield ("act", act.name), "controllers of a quorum keep their release: it needs `controllers: 1`"
        yield from self._of_coordinators(rule)

    def _of_coordinators(self, rule: Rule) -> Iterator[tuple[KeyPath, str]]:
        act, broker = rule.act, rule.select.broker
        if isinstance(act, ForceRebalance):
            yield from self._of_key(("act", act.name), "group", act.group)
        elif isinstance(act, MoveCoordinator):
            kind, key = ("group", act.group) if act.group is not None else ("transaction", act.transaction)
            yield from self._of_key(("act", act.name), kind, str(key))
        for each in act.brokers:
            if isinstance(each, CoordinatorOf):
                yield from self._of_key(("act", act.name), each.kind, each.key)
        if isinstance(broker, CoordinatorOf):
            yield from self._of_key(("select", "broker"), broker.kind, broker.key)

    def _of_key(self, path: KeyPath, kind: str, key: str) -> Iterator[tuple[KeyPath, str]]:
        """Every group has a coordinator, also one that no client is in: the rule would fire and change nothing."""
        known = self._known_keys("consumer" if kind == "group" else "producer")
        if known and key not in known:
            config = "group.id" if kind == "group" else "transactional.id"
            hint = nearest(key, known) or f"; the clients have {', '.join(map(repr, known))}"
            yield path, f"no client has {config}={key!r}{hint}"

    def _known_keys(self, part: str) -> list[str]:
        """The group ids or transactional ids of the clients; none if clients outside of the file may have others."""
        name = "group.id" if part == "consumer" else "transactional.id"
        found: dict[str, None] = {}
        for group in self.clients:
            if group.driver is not None:
                return []  # its configurations have names of its own
            configs = [group.consumer if part == "consumer" else group.producer]
            if part == "producer":
                configs += [step.config for step in group.script if isinstance(step, Restart)]
            found |= {config[name]: None for config in configs if config is not None and name in config}
        return list(found)
