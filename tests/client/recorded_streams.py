"""The recorded request streams of the Java producer: one compressed JSON archive per family of scripts.

An archive maps the name of each script to its streams, outcomes and calls. `tests.interop.java_scripts` records them.
"""

from __future__ import annotations

import gzip
import json
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tests.client.scripts.every import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.client.script_runs import RunResult

FOLDER: Final = Path(__file__).parent / "java_streams"

Recordings: TypeAlias = "dict[str, dict[str, Any]]"


@cache
def recorded(family: str) -> Recordings:
    """The recordings of one family, by script name; empty without an archive."""
    path = _archive(family)
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found: Recordings = json.load(file)
    return found


def record(results: Mapping[str, RunResult]) -> None:
    """Replace the recordings of these scripts and drop those of deleted scripts; equal results give equal bytes."""
    for family, names in _names_by_family().items():
        before = recorded(family)
        every = {**before, **{name: _as_json(result) for name, result in results.items()}}
        kept = {name: every[name] for name in sorted(every) if name in names}
        if kept != before:
            FOLDER.mkdir(exist_ok=True)
            _archive(family).write_bytes(gzip.compress(json.dumps(kept, indent=0).encode(), 9, mtime=0))
    recorded.cache_clear()


def recorded_names() -> list[str]:
    """The names of all recorded scripts, sorted; a name recorded in two archives appears twice."""
    return sorted(name for path in FOLDER.glob("*.json.gz") for name in recorded(path.name.removesuffix(".json.gz")))


def differences_from_java(name: str, result: RunResult) -> str:
    """A line-by-line diff of another run of a script from its recording; empty when they are equal."""
    kept = next(recorded(family)[name] for family, names in _names_by_family().items() if name in names)
    return "\n".join(unified_diff(_lines(kept), _lines(_as_json(result)), "java", "here", lineterm="", n=30))


@cache
def _names_by_family() -> dict[str, frozenset[str]]:
    return {
        family.__name__.rpartition(".")[2]: frozenset(script.name for script in family.SCRIPTS) for family in FAMILIES
    }


def _archive(family: str) -> Path:
    return FOLDER / f"{family}.json.gz"


def _as_json(result: RunResult) -> dict[str, Any]:
    outcomes = [f"{index}: {outcome}" for index, outcome in enumerate(result.outcomes)]
    calls = {"calls": result.calls} if result.calls else {}
    return {"streams": result.streams, "outcomes": outcomes, **calls}


def _lines(recording: dict[str, Any]) -> list[str]:
    return json.dumps(recording, indent=1).splitlines()
