from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from broker_scenarios.spark.session import run_workers_on_this_python


@pytest.mark.parametrize(
    ("master", "stated", "expected"),
    [
        ("local[2]", None, sys.executable),
        ("local[2]", "/usr/bin/python3", "python3"),
        ("spark://host:7077", None, "python3"),
    ],
)
def test_workers_of_a_local_session_run_this_interpreter(
    monkeypatch: pytest.MonkeyPatch, master: str, stated: str | None, expected: str
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if stated is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", stated)
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec="python3"))
    run_workers_on_this_python(session)
    assert session.sparkContext.pythonExec == expected
