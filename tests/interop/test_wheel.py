"""The built wheel: what is in it, and that it works alone in a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sim_runtime", "protocol_specs", "broker_sim", "broker_client", "broker_scenarios")
INSTALL_SECONDS_MAX = 220


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("broker_sim-*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it depends on, no extras."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", str(folder))
    run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    return folder


def run(*command: str, cwd: Path | None = None) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS_MAX)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_holds_the_catalogue_and_the_type_markers(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    catalogue = {
        f"broker_scenarios/catalog/{path.relative_to(ROOT / 'scenarios' / 'catalog')}"
        for path in (ROOT / "scenarios" / "catalog").rglob("*.yaml")
    }
    assert catalogue
    assert sorted((catalogue | {f"{package}/py.typed" for package in PACKAGES}) - names) == []


def test_the_wheel_holds_every_data_file_of_the_packages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = [ROOT, ROOT / "client", ROOT / "scenarios"]
    data = {
        str(path.relative_to(folder))
        for folder in folders
        for package in PACKAGES
        for path in (folder / package).rglob("*.json")
    }
    assert sorted(data - names) == []


def test_the_wheel_holds_nothing_but_the_packages(wheel: Path) -> None:
    roots = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {root for root in roots if not root.endswith(".dist-info")} == set(PACKAGES)


def test_the_command_works_in_a_fresh_environment(fresh: Path, tmp_path: Path) -> None:
    assert "serve" in run(str(fresh / "bin" / "broker-sim"), "--help", cwd=tmp_path)


def test_a_scenario_runs_in_a_fresh_environment(fresh: Path, tmp_path: Path) -> None:
    (catalogue,) = fresh.glob("lib/python*/site-packages/broker_scenarios/catalog")
    scenario = catalogue / "leader-crash-acks-1.yaml"
    command = [str(fresh / "bin" / "broker-sim"), "run", str(scenario), "--records", "5000"]
    printed = run(*command, "--report", "report.html", cwd=tmp_path)
    assert "digest: " in printed
    assert (tmp_path / "report.html").exists()
    with_spark = subprocess.run(
        [*command, "--spark"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (with_spark.returncode, with_spark.stdout) == (2, "")
    assert with_spark.stderr == "--spark needs pyarrow: pip install 'broker-sim[spark]'\n"
