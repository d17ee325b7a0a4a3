"""Checks whose every mutant a case notices: boundaries, equalities, `and` for `or`, guards that never hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.checks.mutants import EQUIVALENT, is_noticed, modules, mutants_of, own_cases

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: module.__name__.split("checks.")[1])
def test_every_mutant_of_a_check_is_noticed(module: ModuleType) -> None:
    mutants, own = list(mutants_of(module)), list(own_cases(module))
    unnoticed = [each.name for each in mutants if each.name not in EQUIVALENT and not is_noticed(each, own)]
    assert unnoticed == []


def test_an_equivalent_mutant_is_one_of_a_check() -> None:
    assert set(EQUIVALENT) <= {mutant.name for module in modules() for mutant in mutants_of(module)}
