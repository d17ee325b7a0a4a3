"""Every document that fits the schema runs to a verdict, or is refused by name.

`DRAWN_DOCUMENTS=2000 pytest --timeout=0 tests/scenarios/language/test_drawn_documents.py` draws as many, others each
time.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import Scenario, load_scenario
from broker_scenarios.verdict import Validity
from broker_scenarios.virtual_run import VirtualRun
from tests.scenarios.language.drawn_documents import SCHEMA, documents

DOCUMENTS: Final = int(os.environ.get("DRAWN_DOCUMENTS", "60"))
VALIDATOR: Final = jsonschema.Draft202012Validator(SCHEMA)
NAMED: Final = re.compile(r"^[^:]+:(1:1|\d+:\d+: [\w.<>@ -]+): .")
"""A mistake names file, line, column and key; one of the whole file has no key."""


@settings(
    max_examples=DOCUMENTS,
    derandomize=DOCUMENTS <= 60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(documents())
def test_a_document_runs_to_a_verdict_or_is_refused_by_name(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        try:
            scenario = load_scenario(path)
        except ScenarioError as error:
            unnamed = [line for line in str(error).splitlines() if not NAMED.match(line)]
            if unnamed:
                pytest.fail(f"refused without a place: {unnamed}")
            return
    threads, files = set(threading.enumerate()), open_files()
    for side in scenario.sides():
        # A foreign client cannot run on virtual time.
        if all(group.driver is None for group in side.clients):
            runs_to_a_verdict(side)
    assert set(threading.enumerate()) == threads
    assert open_files() == files


def runs_to_a_verdict(scenario: Scenario) -> None:
    # Clients log what broken responses do to them; here those are the rule.
    logging.disable()
    try:
        evidence = VirtualRun(scenario, 1).run(None)
    finally:
        logging.disable(logging.NOTSET)
    run = judged(evidence, engine=None)
    assert run.verdict.validity in Validity
    assert run.verdict.crashes == []


def open_files() -> int:
    """The number of open files and sockets."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
