"""A pytest of its own with the project's plugins, for the tests of these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS_MAX = 60
PLUGINS = ("broker_sim.pytest_plugin", "broker_scenarios.pytest_plugin")
# With these pytest prints the whole of each message in its summary, so that the output differs from a user's.
CI_VARIABLES = frozenset({"CI", "BUILD_NUMBER"})


def run_pytest(folder: Path, text: str, *options: str) -> str:
    """The output of a pytest of its own, with the plugins and nothing of this repository's configuration."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    (folder / "test_it.py").write_text(text)
    plugins = [option for name in PLUGINS for option in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options, "test_it.py"]
    paths = [str(ROOT), str(ROOT / "client"), str(ROOT / "scenarios")]
    inherited = {name: value for name, value in os.environ.items() if name not in CI_VARIABLES}
    environment = {**inherited, "PYTHONPATH": os.pathsep.join(paths), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, env=environment
    )
    return run.stdout + run.stderr
