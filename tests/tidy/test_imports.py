"""The cost of `import broker_sim`: it imports no heavy package, and stays fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("construct", "hypothesis", "numpy", "pyarrow", "pyspark", "pytest", "rich")


def modules_after_importing(name: str) -> list[str]:
    code = f"import json, sys, {name}; print(json.dumps(sorted(sys.modules)))"
    paths = [str(ROOT), str(ROOT / "client"), str(ROOT / "scenarios")]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded: list[str] = json.loads(run.stdout)
    return loaded


@pytest.mark.parametrize(
    "name",
    ["sim_runtime", "protocol_specs", "broker_sim", "broker_client"],
)
def test_importing_brings_no_heavy_package_along(name: str) -> None:
    loaded = modules_after_importing(name)
    assert [heavy for heavy in HEAVY if heavy in loaded] == []


def test_importing_the_protocol_does_not_import_every_message() -> None:
    loaded = modules_after_importing("protocol_specs")
    assert [module for module in loaded if module.startswith("protocol_specs.messages.")] == []


def test_the_command_line_imports_no_spark_before_an_option_needs_it() -> None:
    loaded = modules_after_importing("broker_scenarios.cli")
    assert [heavy for heavy in ("pyspark", "pyarrow", "hypothesis") if heavy in loaded] == []


@pytest.mark.parametrize("name", ["evidence", "runs", "report", "sweep", "tcp_run", "virtual_run", "tracing.sources"])
def test_a_run_without_spark_needs_no_package_of_an_extra(name: str) -> None:
    loaded = modules_after_importing(f"broker_scenarios.{name}")
    assert [heavy for heavy in ("cramjam", "numpy", "pandas", "pyarrow", "pyspark") if heavy in loaded] == []


@pytest.mark.parametrize("name", ["sim_runtime", "protocol_specs"])
def test_the_ground_floor_imports_nothing_of_the_rooms_above(name: str) -> None:
    above = ("broker_sim", "broker_client", "broker_scenarios")
    assert [module for module in modules_after_importing(name) if module.startswith(above)] == []
