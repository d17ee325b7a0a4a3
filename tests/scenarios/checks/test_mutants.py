"""Checks whose every mutant a case notices: boundaries, equalities, `and` for `or`, guards that never hold."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.scenarios.checks.mutants import EQUIVALENT, is_noticed, modules, mutants_of, own_cases


@pytest.mark.parametrize(
    "name",
    [
        "per_partition.aborted_reads",
        "per_partition.duplicates",
        "per_partition.recovered",
        "per_partition.set_losses",
        "per_process.auto_commits",
        "per_process.int_send_skips",
        "per_process.nonmonotonic_sends",
        "per_transaction.dependencies",
    ],
)
def test_every_mutant_of_a_check_is_noticed(name: str) -> None:
    module = import_module(f"broker_scenarios.checks.{name}")
    mutants, own = list(mutants_of(module)), list(own_cases(module))
    assert mutants
    unnoticed = [each.name for each in mutants if each.name not in EQUIVALENT and not is_noticed(each, own)]
    assert unnoticed == []


def test_an_equivalent_mutant_is_one_of_a_check() -> None:
    assert set(EQUIVALENT) <= {mutant.name for module in modules() for mutant in mutants_of(module)}
