"""Checks whose every mutant a case notices: boundaries, equalities, `and` for `or`, guards that never hold."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.scenarios.checks.mutants import is_noticed, mutants_of


@pytest.mark.parametrize(
    "name",
    [
        "per_partition.aborted_reads",
        "per_partition.duplicates",
        "per_partition.recovered",
        "per_partition.set_losses",
        "per_process.auto_commits",
    ],
)
def test_every_mutant_of_a_check_is_noticed(name: str) -> None:
    mutants = list(mutants_of(import_module(f"broker_scenarios.checks.{name}")))
    assert mutants
    assert [mutant.name for mutant in mutants if not is_noticed(mutant)] == []
