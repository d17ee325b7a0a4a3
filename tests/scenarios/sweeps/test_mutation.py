from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.mutation import MutatingSweep
from broker_scenarios.table import load_progress

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.sweeps.seed_run import SeedResult

DRAWN = """
title: few seeds have all of the rules
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {linger.ms: {one_of: [0, 5]}}, script: [{send: {uniform: [1, 9]}}, flush, close]}}
rules:
  lost: {chance: 0.5, act: disconnect, phase: before_response, select: {api: Produce}, times: 1, optional: true}
  slow: {chance: 0.5, act: {delay_ms: [1, 50]}, select: {api: Metadata}, times: 1, optional: true}
expect: {sent: "<= 8"}
"""
SEEDS = range(40)


def swept(tmp_path: Path, name: str) -> tuple[MutatingSweep, list[SeedResult]]:
    path = tmp_path / "drawn.yaml"
    path.write_text(DRAWN)
    sweep = MutatingSweep(load_scenario(path), tmp_path / name, processes=1)
    with load_progress("test", len(SEEDS)) as progress:
        return sweep, [*sweep.run(SEEDS, progress)]


def test_kept_draws_are_varied_and_a_varied_seed_that_fails_can_be_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep, results = swept(tmp_path, "kept")
    folder = tmp_path / "kept"
    assert [result.seed for result in results] == [*SEEDS]
    assert [result.digest for result in swept(tmp_path, "again")[1]] == [result.digest for result in results]

    first = json.loads((folder / "seed-0.json").read_text())
    assert first["clients.app.producer.linger.ms"] in (0, 5)
    plain = load_scenario(tmp_path / "drawn.yaml")
    drawn = [result.result.values["decisions"]["clients.app.script.0.send"] for result in results]
    own = [plain.drawn(seed).decisions["clients.app.script.0.send"] for seed in SEEDS]
    assert drawn[:20] == own[:20]
    assert 2 < sum(mine != other for mine, other in zip(drawn, own, strict=True)) < 20

    failed = next(result for result in results if result.misses and "--decisions" in result.result.reproduce)
    capsys.readouterr()
    assert main(shlex.split(failed.result.reproduce)[1:]) == 1
    assert failed.digest in capsys.readouterr().out
    with load_progress("test", 1) as progress:
        [shrunk] = sweep.shrink([failed.seed], progress)
    assert f"-> {failed.counts.stored} records, 1 event, in " in shrunk.summary


def test_what_cannot_be_varied_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(
        DRAWN.replace("{one_of: [0, 5]}", "0").replace("{uniform: [1, 9]}", "3").replace("chance: 0.5, ", "")
    )
    with pytest.raises(ScenarioError, match=r"nothing can be varied \(--mutate\): the file has no draws"):
        MutatingSweep(load_scenario(path), tmp_path / "kept")
    path.write_text(DRAWN)
    with pytest.raises(ScenarioError, match=r"cannot make .*plain.yaml \(--mutate\): File exists"):
        MutatingSweep(load_scenario(path), path)
    assert main(["sweep", str(path), "--spark", "--mutate", str(tmp_path)]) == 2
    assert "--mutate is for a sweep without --spark" in capsys.readouterr().err
