"""The code that judges a run or a history, and the cases that must notice each mutant of it.

`python -m tests.scenarios.checks.jury [MODULE ...]` prints the mutants that no case notices.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_scenarios import checks, invariants, measures
from tests.scenarios.checks.equivalent_mutants import EQUIVALENT
from tests.scenarios.checks.mutants import Mutant, applied, mutants_of, short_name
from tests.scenarios.checks.test_mutated_checks import cases, parameters
from tests.scenarios.conftest import Story, values_found_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

__all__ = ["Jury", "modules"]

_PACKAGES: Final = (checks, invariants, measures)
_MODULES: Final = ("promises", "truth")
_OF_HISTORIES: Final = ("per_partition", "per_process", "per_transaction", "per_key", "over_time")
_WIRE: Final = "checks.on_the_wire.test_"
_LEFT_OUT: Final = ("analysis", "calls", "history_check", "observed_log", "partition_check", "whole_history")
_JUDGED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "on_the_wire": (f"{_WIRE}wire_checks", f"{_WIRE}missing_requests", f"{_WIRE}wire_facts"),
    "wire_check": (f"{_WIRE}wire_checks",),
    "on_the_client": ("checks.on_the_client.test_client_checks",),
    "invariants": ("invariants.test_each_invariant",),
    "measures": ("measures.test_each_measure",),
}
"""The tests of a module or of all in a folder, where it is not the one that mirrors the module."""


def modules() -> list[ModuleType]:
    """The modules that judge."""
    found = [each.name for one in _PACKAGES for each in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")]
    names = [name for name in found if short_name(name).partition(".")[0] not in _LEFT_OUT]
    return [import_module(name) for name in (*names, *(f"broker_scenarios.{name}" for name in _MODULES))]


class Jury:
    """The cases of one module: its own tests, then for a check of histories those of all anomalies."""

    def __init__(self, module: ModuleType) -> None:
        name = short_name(module.__name__)
        folder = name.partition(".")[0]
        self.cases = [case for tests in _tests_of(module, name, folder) for case in _cases_of(tests)]
        if folder in _OF_HISTORIES:
            self.cases += [case for _, case in cases()]

    def notices(self, mutant: Mutant) -> bool:
        """True if a case fails with the mutant, with any error. The case is the first one that is tried next time."""
        with applied(mutant):
            for place, case in enumerate(self.cases):
                try:
                    case()
                except Exception:  # noqa: BLE001 - a mutant may break a check in any way
                    self.cases.insert(0, self.cases.pop(place))
                    return True
        return False


def _tests_of(module: ModuleType, name: str, folder: str) -> Iterator[ModuleType]:
    *_, package, last = module.__name__.split(".")
    mirrored = f"test_{last}" if "." not in name else f"checks.{package}.test_{last}"
    for tests in _JUDGED_BY.get(folder, (mirrored,)):
        try:
            yield import_module(f"tests.scenarios.{tests}")
        except ModuleNotFoundError:
            if folder not in _OF_HISTORIES:
                raise


def _cases_of(tests: ModuleType) -> Iterator[Callable[[], None]]:
    for _, test in inspect.getmembers(tests, inspect.isfunction):
        if test.__name__.startswith("test_") and test.__module__ == tests.__name__:
            for given in parameters(test):
                yield partial(_with_fixtures, test, given)


def _with_fixtures(test: Callable[..., None], given: Mapping[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fixtures = {"story": Story(), "values_found": values_found_by, "monkeypatch": patch}
        wanted = inspect.signature(test).parameters
        test(**given, **{name: fixture for name, fixture in fixtures.items() if name in wanted})


def main(names: list[str]) -> int:
    """Print the mutants that are not noticed."""
    tried = survived = 0
    for module in modules():
        if names and not any(name in module.__name__ for name in names):
            continue
        jury = Jury(module)
        for mutant in mutants_of(module):
            tried += 1
            if mutant.name not in EQUIVALENT and not jury.notices(mutant):
                survived += 1
                sys.stdout.write(f"not noticed: {mutant.name}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{tried} mutants, {survived} not noticed\n")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
