"""Rules of a scenario that name groups, transactional ids, rules or releases which the file does not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.language.yaml_source import ScenarioFileError

if TYPE_CHECKING:
    from pathlib import Path

SHORT = """title: t
cluster: {brokers: 3}
topics: {orders: {partitions: 1, replication_factor: 1}}
expect: {}
"""
MEMBERS = (
    SHORT
    + """clients:
  app: {producer: {transactional.id: t}, consumer: {group.id: billing}, script: [close]}
rules: {r: RULE}
"""
)


def written(folder: Path, text: str) -> Path:
    path = folder / "case.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("{act: {force_rebalance: biling}}", "no client has group.id='biling'; did you mean 'billing'?"),
        ("{act: {kill: coordinator of group b}}", "no client has group.id='b'; the clients have 'billing'"),
        ("{act: {kill: coordinator of transaction u}}", "no client has transactional.id='u'; the clients have 't'"),
        ("{act: {move_coordinator: {group: biling}}}", "no client has group.id='biling'"),
        ("{act: {move_coordinator: {transaction: tt}}}", "no client has transactional.id='tt'"),
        ("{select: {broker: coordinator of group x}, act: hold}", "rules.r.select.broker: no client has group.id='x'"),
        ("{when: {after: r}, act: {kill: 1}}", "rules.r.when.after: rule 'r' cannot open after itself"),
    ],
)
def test_a_rule_that_could_change_nothing_is_refused_before_the_run(tmp_path: Path, rule: str, problem: str) -> None:
    """Each group id has a coordinator, also one that no client uses: the rule would fire, and nothing would show it."""
    with pytest.raises(ScenarioFileError, match=re.escape(problem)):
        load_scenario(written(tmp_path, MEMBERS.replace("RULE", rule)))


@pytest.mark.parametrize("rule", ["{act: {force_rebalance: billing}}", "{act: {kill: coordinator of transaction t}}"])
def test_a_rule_names_the_groups_and_transactional_ids_of_clients(tmp_path: Path, rule: str) -> None:
    assert load_scenario(written(tmp_path, MEMBERS.replace("RULE", rule))).rules


def test_groups_of_clients_outside_of_the_file_are_not_known(tmp_path: Path) -> None:
    text = SHORT + "load: {records: 1, producers: 1, rate_per_second: 1}\n"
    text += "rules: {r: {act: {move_coordinator: {group: billing}}}}\n"
    assert load_scenario(written(tmp_path, text)).rules


@pytest.mark.parametrize(
    ("controllers", "to", "problem"),
    [
        (1, "4.3", "rules.r.act.upgrade: a broker cannot restart as 4.3.1 after 3.7.2 (kraft): releases are mixed"),
        (3, "3.9", "rules.r.act.upgrade: controllers of a quorum keep their release: it needs `controllers: 1`"),
    ],
)
def test_an_upgrade_that_is_not_simulated_is_refused_before_the_run(
    tmp_path: Path, controllers: int, to: str, problem: str
) -> None:
    text = SHORT.replace("brokers: 3", f"brokers: 3, controllers: {controllers}") + 'release: "3.7"\n'
    with pytest.raises(ScenarioFileError, match=re.escape(problem)):
        load_scenario(written(tmp_path, text + f'rules: {{r: {{act: {{upgrade: {{to: "{to}"}}}}}}}}\n'))
