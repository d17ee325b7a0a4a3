"""Names in the modules of a package: replaced for a while by others. A function finds them before the built-in ones."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["added_names", "replaced_names"]


def _modules_of(packages: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name, module in list(sys.modules.items()):
        if any(name == package or name.startswith(f"{package}.") for package in packages):
            yield vars(module)


@contextmanager
def added_names(packages: tuple[str, ...], names: Mapping[str, object]) -> Iterator[None]:
    """Within it every loaded module of the packages has these names, unless it has them itself."""
    added: list[tuple[dict[str, Any], str]] = []
    for module in _modules_of(packages):
        for name, value in names.items():
            if name not in module:
                module[name] = value
                added.append((module, name))
    try:
        yield
    finally:
        for module, name in added:
            module.pop(name, None)


@contextmanager
def replaced_names(packages: tuple[str, ...], replacements: Mapping[object, object]) -> Iterator[None]:
    """Within it every name of the loaded modules of the packages that is bound to a key is bound to its value."""
    replaced: list[tuple[dict[str, Any], str, object]] = []
    for module in _modules_of(packages):
        for name, value in list(module.items()):
            for old, new in replacements.items():
                if value is old:
                    module[name] = new
                    replaced.append((module, name, old))
    try:
        yield
    finally:
        for module, name, old in replaced:
            module[name] = old
