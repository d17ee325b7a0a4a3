"""docs/reference/faults.md is current, and every key of the grammar is on it."""

from __future__ import annotations

from pathlib import Path

from broker_sim.control.journal import EVENT_KINDS
from broker_sim.faults import grammar
from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.interception import Phase
from broker_sim.faults.reference_page import reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "faults.md"


def test_the_page_is_what_the_code_writes_now() -> None:
    assert PAGE.read_text() == reference_page(), "run: make docs"


def test_every_action_phase_and_key_has_a_line() -> None:
    page = reference_page()
    keys = [*grammar.RULE_KEYS, *grammar.SELECT.forms, *grammar.GATE.forms]
    changes = ACTIONS["edit"].form.schema["oneOf"][0]["properties"]
    for name in [*ACTIONS, *(phase.value for phase in Phase), *keys, *changes, *EVENT_KINDS]:
        assert f"| `{name}` | " in page, name
