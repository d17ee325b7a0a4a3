"""Our producer sends the requests of the Java producer 4.3.1, script by script, with equal sequences and outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client import recorded_streams
from tests.client.recorded_streams import differences_from_java, record, recorded_names
from tests.client.script_runs import RunResult, run_on_virtual_time
from tests.client.scripts.every import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.client.producer_script import Script


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_the_streams_are_those_of_java(script: Script) -> None:
    differences = differences_from_java(script.name, run_on_virtual_time(script))
    assert not differences, differences


def test_every_script_has_its_own_name_and_recording() -> None:
    names = [script.name for script in SCRIPTS]
    assert sorted(names) == recorded_names()


@pytest.fixture
def empty_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(recorded_streams, "FOLDER", tmp_path)
    recorded_streams.recorded.cache_clear()
    yield tmp_path
    recorded_streams.recorded.cache_clear()


def test_a_recording_replaces_only_its_own_script(empty_archives: Path) -> None:
    first, second = SCRIPTS[0].name, SCRIPTS[1].name
    written = RunResult(streams={"connection 1": ["Metadata v13"]}, outcomes=["ok t-0@0"], calls=[])
    record({first: written, second: written})
    record({second: RunResult(streams={"connection 1": []}, outcomes=[], calls=["flush: ok"]), "no script": written})
    assert recorded_names() == sorted([first, second])
    assert differences_from_java(first, written) == ""
    assert '-   "Metadata v13"' not in differences_from_java(second, written)
    assert '+   "Metadata v13"' in differences_from_java(second, written)
    (archive,) = empty_archives.iterdir()
    before = archive.read_bytes()
    archive.unlink()
    recorded_streams.recorded.cache_clear()
    record({second: RunResult(streams={"connection 1": []}, outcomes=[], calls=["flush: ok"]), first: written})
    assert archive.read_bytes() == before
