"""Histories of other people's clients and brokers, each with the verdict that a reader of the definitions gave it.

`foreign_histories.jsonl` has one per line: the history as `broker-sim check` reads it, its promises and logs, the
verdict, and every finding with its values, or their number, and whether the promises permit it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from broker_scenarios import check_history
from broker_scenarios.operations import op_from_json

LINES: Final = (Path(__file__).parent / "foreign_histories.jsonl").read_text().splitlines()
FOREIGN: Final = {case["name"]: case for case in map(json.loads, LINES)}


@pytest.mark.parametrize("name", list(FOREIGN))
def test_a_foreign_history_has_its_verdict(name: str) -> None:
    case = FOREIGN[name]
    ops = [op_from_json(line, f"i={line['i']}") for line in case["history"]]
    verdict = check_history(ops, case["promises"], case.get("logs"))
    found: dict[str, dict[str, Any]] = {}
    for finding in verdict.findings:
        entry = found.setdefault(finding.name, {"allowed": finding.allowed is not None, "values": [], "count": 0})
        entry["values"] += [value for value in finding.values if value not in entry["values"]]
        entry["count"] += 1
    for entry in found.values():
        del entry["count" if entry["values"] else "values"]
    assert (verdict.validity.value, found) == (case["verdict"], case["findings"])
