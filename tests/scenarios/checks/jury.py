"""The code that judges a run or a history, and the cases that must notice each mutant of it.

`python -m tests.scenarios.checks.jury [MODULE ...]` prints the mutants that no case notices.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_scenarios import checks, invariants, measures
from tests.scenarios.checks.equivalent_mutants import EQUIVALENT
from tests.scenarios.checks.mutants import Mutant, applied, mutants_of, short_name
from tests.scenarios.checks.test_mutated_checks import cases, parameters
from tests.scenarios.conftest import Story, journal_event, values_found_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

__all__ = ["Jury", "modules"]

_PACKAGES: Final = (checks, invariants, measures)
_MODULES: Final = (
    "evidence",
    "expectations",
    "explanations",
    "histories.circumstances",
    "histories.fault_explanations",
    "histories.judge",
    "histories.neutral_fold",
    "histories.run_operations",
    "histories.run_verdict",
    "histories.send_operations",
    "journal_view",
    "measurements",
    "operations",
    "promises",
    "truth",
    "verdict",
)
_WIRE: Final = "checks.on_the_wire.test_"
_JUDGED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "on_the_wire": (f"{_WIRE}wire_checks", f"{_WIRE}missing_requests", f"{_WIRE}wire_facts"),
    "wire_check": (f"{_WIRE}wire_checks",),
    "evidence": ("test_evidence",),
    "expectations": ("test_verdict",),
    "histories.run_operations": ("histories.test_run_operations", "test_evidence"),
    "histories.run_verdict": ("histories.test_run_operations", "test_evidence"),
    "journal_view": ("test_journal_view", "test_verdict", "test_measurements"),
    "on_the_client": ("checks.on_the_client.test_client_checks",),
    "invariants": ("invariants.test_each_invariant",),
    "measures": ("measures.test_each_measure",),
}
"""The tests of a module or of all in a folder, where it is not the one that mirrors the module."""


def modules() -> list[ModuleType]:
    """The modules that judge."""
    found = [each.name for one in _PACKAGES for each in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")]
    return [import_module(name) for name in (*found, *(f"broker_scenarios.{name}" for name in _MODULES))]


class Jury:
    """The cases of one module: its own tests, and if these mirror it those of all anomalies in histories."""

    def __init__(self, module: ModuleType) -> None:
        name = short_name(module.__name__)
        judged_by = _JUDGED_BY.get(name.rpartition(".")[0]) or _JUDGED_BY.get(name)
        self.cases = [case for tests in judged_by or (_mirrored(module),) for case in _cases_of(tests)]
        if judged_by is None:
            self.cases += [case for _, case in cases()]

    def notices(self, mutant: Mutant) -> bool:
        """True if a case fails with the mutant, with any error. The case is the first one that is tried next time."""
        with applied(mutant):
            for place, case in enumerate(self.cases):
                try:
                    case()
                except (Exception, pytest.fail.Exception):  # noqa: BLE001 - a mutant may break a check in any way
                    self.cases.insert(0, self.cases.pop(place))
                    return True
        return False


def _mirrored(module: ModuleType) -> str:
    *folders, last = module.__name__.removeprefix("broker_scenarios.").split(".")
    return ".".join((*folders, f"test_{last}"))


def _cases_of(name: str) -> Iterator[Callable[[], None]]:
    try:
        tests = import_module(f"tests.scenarios.{name}")
    except ModuleNotFoundError:
        return
    for _, test in inspect.getmembers(tests, inspect.isfunction):
        if test.__name__.startswith("test_") and test.__module__ == tests.__name__:
            for given in parameters(test):
                yield partial(_with_fixtures, test, given)


def _with_fixtures(test: Callable[..., None], given: Mapping[str, Any]) -> None:
    wanted = inspect.signature(test).parameters
    with ExitStack() as stack:
        made = {name: fixture(stack) for name, fixture in _FIXTURES.items() if name in wanted}
        test(**given, **made)


_FIXTURES: Final[Mapping[str, Callable[[ExitStack], object]]] = {
    "story": lambda _: Story(),
    "values_found": lambda _: values_found_by,
    "journal_events": lambda _: journal_event,
    "monkeypatch": lambda stack: stack.enter_context(pytest.MonkeyPatch.context()),
    "tmp_path": lambda stack: Path(stack.enter_context(TemporaryDirectory())),
}


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
