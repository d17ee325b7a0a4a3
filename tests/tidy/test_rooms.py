"""The structure inside `broker_sim` that import-linter cannot express: the ring of typed imports, and lists of APIs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
RING_MAX: Final = 12
"""The most files that may import each other in a ring that contains `broker.py`, imports of types included."""
LIST_MIN: Final = 3
"""The length from which a literal with ApiKey members is a list of APIs: that belongs to the catalogue."""
CATALOGUE: Final = ROOT / "protocol_specs" / "api_key.py"
NO_LIST_OF_FACTS: Final = frozenset(
    {
        "broker_sim/apis/authorization/broker_rules.py",
        "broker_sim/apis/authorization/controller_rules.py",
        "broker_sim/apis/authorization/zookeeper_rules.py",
    }
)
"""Files whose lists of APIs state no facts about them: the rules of the authorizer are functions of handlers."""


def modules_of(package: Path) -> dict[str, Path]:
    """The modules of a package by name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, modules: Mapping[str, Path]) -> set[str]:
    """The modules that a file imports: at its top, inside functions, and for the type checker."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules.keys()


def reachable(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """All modules to which a chain of imports leads."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for name in graph[ahead.pop()] - found:
            found.add(name)
            ahead.append(name)
    return found


def ring_of(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """The modules that import `start` and that `start` imports, through others or not."""
    importers: dict[str, set[str]] = {name: set() for name in graph}
    for name, imported in graph.items():
        for each in imported:
            importers[each].add(name)
    return (reachable(start, graph) & reachable(start, importers)) | {start}


def lists_of_apis(path: Path) -> Iterator[str]:
    """Each literal with several ApiKey members, and each constant that repeats the number of an API."""
    for node in ast.walk(ast.parse(path.read_text())):
        elements: list[ast.expr | None] = []
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            elements = [*node.elts]
        elif isinstance(node, ast.Dict):
            elements = [*node.keys]
        elif isinstance(node, ast.MatchOr):
            elements = [each.value for each in node.patterns if isinstance(each, ast.MatchValue)]
        if sum(_is_api_key(element) for element in elements) >= LIST_MIN:
            yield f"{path.name}:{node.lineno}: a list of APIs"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and _repeats_a_key(target.id, node.value.value):
                    yield f"{path.name}:{node.lineno}: {target.id} repeats ApiKey"


def _is_api_key(element: ast.expr | None) -> bool:
    return isinstance(element, ast.Attribute) and isinstance(element.value, ast.Name) and element.value.id == "ApiKey"


def _repeats_a_key(name: str, value: object) -> bool:
    return isinstance(value, int) and name in ApiKey.__members__ and ApiKey[name] == value


def test_few_files_import_each_other_in_a_ring_with_the_broker() -> None:
    modules = modules_of(ROOT / "broker_sim")
    graph = {name: imports_of(path, modules) for name, path in modules.items()}
    ring = ring_of("broker_sim.broker", graph)
    assert len(ring) <= RING_MAX, sorted(ring)


@pytest.mark.parametrize(
    "package", ["sim_runtime", "protocol_specs", "broker_sim", "client/broker_client", "scenarios/broker_scenarios"]
)
def test_the_catalogue_is_the_only_list_of_apis(package: str) -> None:
    files = [
        path
        for path in sorted((ROOT / package).rglob("*.py"))
        if path != CATALOGUE and str(path.relative_to(ROOT)) not in NO_LIST_OF_FACTS
    ]
    assert [found for path in files for found in lists_of_apis(path)] == []


def test_a_ring_is_found_through_other_modules() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert ring_of("a", graph) == {"a", "b", "c"}
    assert ring_of("d", graph) == {"d"}


def test_a_list_of_apis_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "KEYS = {ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.METADATA}\n"
        "TABLE = {ApiKey.FETCH: 1, ApiKey.PRODUCE: 2, ApiKey.METADATA: 3}\n"
        "PAIR = (ApiKey.FETCH, ApiKey.PRODUCE)\n"
        "FETCH = 1\n"
        "METADATA: Final = 3\n"
        "PRODUCE = 7\n"
    )
    assert sorted(lists_of_apis(path)) == [
        "module.py:1: a list of APIs",
        "module.py:2: a list of APIs",
        "module.py:4: FETCH repeats ApiKey",
        "module.py:5: METADATA repeats ApiKey",
    ]
