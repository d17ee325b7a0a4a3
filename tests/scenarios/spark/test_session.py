from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from broker_scenarios.spark import session
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
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec="python3"))
    run_workers_on_this_python(spark)
    assert spark.sparkContext.pythonExec == expected


def test_py4j_logs_nothing_of_what_it_raises(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    root, own = logging.getLogger(), logging.getLogger("py4j")
    monkeypatch.setattr(own, "level", own.level)
    monkeypatch.setattr(root, "filters", list(root.filters))
    session._quieten_py4j()
    logging.getLogger("py4j.clientserver").error("Exception occurred while shutting down connection")
    for path in ("site-packages/py4j/java_gateway.py", "site-packages/app/main.py"):
        root.handle(logging.LogRecord("root", logging.ERROR, path, 1, f"of {path}", (), None))
    assert caplog.messages == ["of site-packages/app/main.py"]
