"""Judging code whose every mutant a case notices: boundaries, equalities, `and` for `or`, guards that never hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.checks.equivalent_mutants import EQUIVALENT
from tests.scenarios.checks.jury import Jury, modules
from tests.scenarios.checks.mutants import mutants_of, short_name

if TYPE_CHECKING:
    from types import ModuleType

MODULES = {short_name(module.__name__): module for module in modules()}


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_every_mutant_is_noticed(module: ModuleType) -> None:
    mutants, jury = list(mutants_of(module)), Jury(module)
    names = {each.name for each in mutants}
    assert {name for name in EQUIVALENT if name.startswith(f"{short_name(module.__name__)}:")} <= names
    assert [each.name for each in mutants if each.name not in EQUIVALENT and not jury.notices(each)] == []


def test_an_equivalent_mutant_is_one_of_a_module() -> None:
    assert {name.partition(":")[0] for name in EQUIVALENT} <= set(MODULES)
