"""The cost of `import broker_sim`: it imports no heavy package, and stays fast."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
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


CODECS = """
import json, sys
before = set(sys.modules)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
for codec in CompressionCodec:
    builder = RecordBatchBuilder(codec=codec)
    builder.append(0, None, b"v" * 100)
    assert read_records(builder.build())[0].value == b"v" * 100
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_every_codec_needs_only_the_core_install() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CODECS], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    distributions = packages_distributions()
    used = {name for module in json.loads(run.stdout) for name in distributions.get(module, [])}
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    core = {re.split(r"[\s<>=!\[;]", requirement, maxsplit=1)[0] for requirement in requirements}
    assert "cramjam" in used
    assert sorted(used - core - {"broker-sim"}) == []
