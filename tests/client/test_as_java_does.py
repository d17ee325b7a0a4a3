"""Our producer asks for what the Java producer 4.3.1 asked for, script by script: requests, sequences, outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.recorded_streams import FOLDER, differences_from_java
from tests.client.script_runs import run_on_virtual_time
from tests.client.scripts.every import SCRIPTS

if TYPE_CHECKING:
    from tests.client.producer_script import Script


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_the_streams_are_those_of_java(script: Script) -> None:
    differences = differences_from_java(script.name, run_on_virtual_time(script))
    assert not differences, differences


def test_every_script_has_a_name_and_a_recording_of_its_own() -> None:
    names = [script.name for script in SCRIPTS]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.json"))
