"""The streams of the Java producer, as they were recorded: one JSON file a script."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.client.script_runs import Came

FOLDER = Path(__file__).parent / "java_streams"


def keep(name: str, came: Came) -> None:
    """Write what a script came to."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(_text(came) + "\n")


def differences_from_java(name: str, came: Came) -> str:
    """What another run came to, line by line against what was recorded; empty when it is the same."""
    kept = (FOLDER / f"{name}.json").read_text().splitlines()
    return "\n".join(unified_diff(kept, _text(came).splitlines(), "java", "here", lineterm="", n=30))


def _text(came: Came) -> str:
    outcomes = [f"{index}: {outcome}" for index, outcome in enumerate(came.outcomes)]
    calls = {"calls": came.calls} if came.calls else {}
    return json.dumps({"streams": came.streams, "outcomes": outcomes, **calls}, indent=1)
