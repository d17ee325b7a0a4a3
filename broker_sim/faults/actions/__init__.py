"""The actions of fault rules, one per file; `ACTIONS` finds them by the name that a rule writes.

A file is imported when its action is first used. Its name is the name of the action, and it defines one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from broker_sim.faults.action import Action

__all__ = ["ACTIONS", "Actions"]


class Actions(Mapping[str, type[Action]]):
    """Every action by its name, group by group: a group is a folder."""

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The names of the actions in each folder."""
        folders = [module.name for module in iter_modules(__path__) if module.ispkg]
        return {
            folder: [module.name for module in iter_modules([f"{parent}/{folder}" for parent in __path__])]
            for folder in folders
        }

    @cached_property
    def _modules(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for folder, names in self.groups.items():
            for name in names:
                module = f"{__name__}.{folder}.{name}"
                if found.setdefault(name, module) != module:
                    raise ValueError(f"{module}: another action has this name: {found[name]}")
        return found

    def __getitem__(self, name: str) -> type[Action]:
        module = import_module(self._modules[name])
        actions = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Action) and value.__module__ == module.__name__
        ]
        if len(actions) != 1:
            names = ", ".join(action.__name__ for action in actions) or "none"
            raise ValueError(f"{module.__name__}: expected one class that is an Action, not {names}")
        return actions[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


ACTIONS: Final = Actions()
