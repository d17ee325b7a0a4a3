from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from broker_sim.faults import actions
from broker_sim.faults.action import Action, Need
from broker_sim.faults.actions import ACTIONS, brokers, links
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import Rule, RuleError

if TYPE_CHECKING:
    from pathlib import Path

    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Sample(Action):
    """An action that is in no folder."""

    broker: int = 3

    def fire(self, firing: Firing) -> None:
        pass


def test_an_action_is_named_after_its_file() -> None:
    assert Sample.name == "test_action"
    assert list(Sample().brokers) == [3]
    assert "hold" in ACTIONS.groups["requests"]


def test_an_action_on_a_request_needs_a_phase_that_it_can_fire_in() -> None:
    with pytest.raises(RuleError, match="phase: missing: test_action acts on a request"):
        Sample().check(Rule(name="a", act=Sample()))
    with pytest.raises(RuleError, match=r"test_action fires in before_parse, .*, not in mid_response"):
        Sample().check(Rule(name="a", act=Sample(), phase=Phase.MID_RESPONSE))


@pytest.mark.parametrize("name", ACTIONS)
def test_the_example_of_an_action_is_an_action(name: str) -> None:
    action = ACTIONS[name]
    for example in action.form.schema.get("examples", [None]):
        assert type(parse_rule({"act": {name: example}}).act) is action
    assert action.name == name
    assert all(isinstance(need, Need) and need.description for need in action.needs)


def test_a_file_without_its_action_and_a_name_of_two_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("brokers", "links"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "links" / "empty.py").touch()
    monkeypatch.setattr(actions, "__path__", [*actions.__path__, str(tmp_path)])
    for folder in (brokers, links):
        place = tmp_path / folder.__name__.rpartition(".")[2]
        monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(place)])
    with pytest.raises(ValueError, match=r"actions\.links\.empty: expected one class that is an Action, not none"):
        actions.Actions()["empty"]
    (tmp_path / "brokers" / "empty.py").touch()
    with pytest.raises(ValueError, match=r"actions\.links\.empty: another action has this name: .*brokers\.empty"):
        actions.Actions()["empty"]
