"""The document of a scenario with what a seed has drawn in place of its draws: the run has the same digest.

What a rule draws each time that it fires stays with the seed if it fires more than once.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.language.scenario import Scenario

__all__ = ["concrete_document"]

_FIRST_FIRING: Final = "@1"
_SECOND_FIRING: Final = "@2"


def concrete_document(drawn: Scenario, seed: int, decisions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a run. `drawn` is the scenario of the seed, `decisions` those of its RunRecord."""
    document = deepcopy(dict(drawn.document))
    document["seed"] = seed
    if drawn.records_given is not None:
        _set_records(document, drawn.records_given)
    for name, rule in document.get("rules", {}).items():
        made = decisions.get(name)
        if isinstance(made, dict):
            _write_draws(rule, made)
    return document


def _set_records(document: dict[str, Any], records: int) -> None:
    """Write the number of records that the command line gave to the only load."""
    for holder in (document, *document.get("clients", {}).values()):
        if "load" in holder:
            holder["load"]["records"] = records


def _write_draws(rule: dict[str, Any], made: Mapping[str, Any]) -> None:
    for name, value in made.items():
        if name == "share":
            _select_by_number(rule["select"], value)
            continue
        place, firing, _ = name.partition("@")
        if not firing or (name.endswith(_FIRST_FIRING) and place + _SECOND_FIRING not in made):
            _write_value(rule, place.split("."), value)


def _select_by_number(select: dict[str, Any], numbers: Sequence[int]) -> None:
    """Select the requests that the share has selected by their numbers, unless the rule selects some numbers anyway."""
    if numbers and "nth" not in select:
        del select["share"]
        select["nth"] = list(numbers)


def _write_value(rule: dict[str, Any], path: list[str], value: Any) -> None:
    """Write a value to the key of a path. The only value of an action may stand for the mapping of its keys."""
    key, *rest = path
    if key == "act" and isinstance(rule["act"], dict):
        ((action, given),) = rule["act"].items()
        if not isinstance(given, dict):
            rule["act"] = {action: value}
            return
        _write_value(given, rest, value)
    elif not rest and key in rule:
        rule[key] = value
    elif rest and isinstance(rule.get(key), dict):
        _write_value(rule[key], rest, value)
