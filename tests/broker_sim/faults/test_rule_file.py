from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_file import read_rule_file
from broker_sim.yaml_source import YamlMistakes

if TYPE_CHECKING:
    from pathlib import Path

    from broker_sim.faults.rule import Rule


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "lose: {act: disconnect}\nslow: {act: {delay_ms: 5}}\n",
        "- {name: lose, act: disconnect}\n- {name: slow, act: {delay_ms: 5}}\n",
    ],
)
def test_rules_are_a_list_or_a_mapping_by_name(tmp_path: Path, text: str) -> None:
    added: list[Rule] = []
    read_rule_file(written(tmp_path, text)).add_to(added.append)
    assert [rule.name for rule in added] == ["lose", "slow"]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("lose:\n  act: disconect\n", "2:3: lose.act: "),
        ("- act: {delay_ms: soon}\n", "1:9: 0.act.delay_ms: "),
        ("lose: {act: disconnect}\nlose: {act: disconnect}\n", "2:1: lose: is a duplicate key"),
        ("lose: 7\n", "1:1: lose: expected a mapping"),
        ("7\n", "1:1: expected a list of rules"),
        ("", "1:1: expected a list of rules"),
        ("a: [\n", "no YAML"),
    ],
)
def test_a_mistake_has_its_file_line_column_and_key(tmp_path: Path, text: str, mistake: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(YamlMistakes) as raised:
        read_rule_file(path)
    assert str(raised.value).startswith(f"{path}:")
    assert mistake in str(raised.value)


def test_a_rule_that_the_cluster_refuses_has_its_place_too(tmp_path: Path) -> None:
    def refuse(rule: Rule) -> None:
        raise RuleError(("act", "kill"), f"no broker for {rule.name}")

    path = written(tmp_path, "slow:\n  act: {kill: 7}\n")
    with pytest.raises(YamlMistakes, match=r":2:9: slow\.act\.kill: no broker for slow$"):
        read_rule_file(path).add_to(refuse)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokerSimError, match=r"none\.yaml: No such file or directory"):
        read_rule_file(tmp_path / "none.yaml")
